"""Rearrangement of dims by a pattern of names: "b (h1 h) w c -> (b h1) h w c" (einops; Rogozhnikov 2022)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import aten
from aten import Tensor

_TOKEN = re.compile(r"\(|\)|\.\.\.|…|[A-Za-z_]\w*|\d+|\S")
_REST, _JOINED = "...", "(...)"  # the dims without a name: each for itself, or in brackets


def _groups(side: str, pattern: str) -> list[list[str]]:
    """The dims of one side, each a list of the names that it is made of. Raises ValueError for text that is none."""
    groups: list[list[str]] = []
    inside: list[str] | None = None
    for token in _TOKEN.findall(side):
        token = _REST if token == "…" else token
        if token == "(" and inside is None:
            inside = []
        elif token == ")" and inside is not None:
            groups.append(inside)
            inside = None
        elif token == _REST or token.isidentifier() or token == "1":
            named = [] if token == "1" else [token]
            if inside is None:
                groups.append(named)
            else:
                inside += [_JOINED if name == _REST else name for name in named]
        else:
            raise ValueError(f"{token!r} cannot stand here in the pattern {pattern!r}")
    names = [name for group in groups for name in group]
    if inside is not None or len(set(names)) != len(names) or {_REST, _JOINED} <= set(names):
        raise ValueError(f"brackets that do not close, or a name that stands twice, in the pattern {pattern!r}")
    return groups


def _lengths(shape: Sequence[Any], groups: list[list[str]], known: dict[str, int], pattern: str) -> dict[str, Any]:
    """The length of each name. Raises ValueError where the dims are no products of the lengths that are known."""
    found: dict[str, Any] = dict(known)
    for size, group in zip(shape, groups):
        given = 1
        for name in group:
            given *= known.get(name, 1)
        open_names = [name for name in group if name not in known]
        if len(open_names) > 1:
            raise ValueError(f"the lengths of {', '.join(open_names)} cannot be told from a dim of {size}: give all but one")
        if size % given or (not open_names and size != given):
            raise ValueError(f"a dim of {size} does not go with {' '.join(group) or 1} in the pattern {pattern!r}")
        found.update({name: size // given for name in open_names})
    return found


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Tensor:
    """`tensor` (or tensors, stacked along a new first dim) with its dims split, put in order and joined as `pattern` says.

    axes_lengths: lengths of names in brackets, which may lack for one of each dim. `...` stands for the dims without a name.
    Raises ValueError for a pattern that is none, whose sides have other names, or that does not go with the sizes.
    """
    x = tensor if isinstance(tensor, Tensor) else aten.stack(list(tensor))
    left, arrow, right = pattern.partition("->")
    before, after = _groups(left, pattern), _groups(right, pattern)
    if not arrow or any(_JOINED in group for group in before):
        raise ValueError(f"the pattern {pattern!r} has no ->, or an ellipsis in brackets left of it")
    names = {name for group in before for name in group}
    if names != {_REST if name == _JOINED else name for group in after for name in group} or not set(axes_lengths) <= names:
        raise ValueError(f"the sides of the pattern {pattern!r}, and the lengths given, have other names")
    rest: list[str] = []
    if [_REST] in before:
        at = before.index([_REST])
        rest = [f"...{i}" for i in range(x.ndim - len(before) + 1)]
        before = [*before[:at], *([name] for name in rest), *before[at + 1 :]]
    if len(before) != x.ndim:
        raise ValueError(f"the pattern {pattern!r} names {len(before)} dims of a tensor that has {x.ndim}")
    lengths = _lengths(x.shape, before, axes_lengths, pattern)
    order = [name for group in before for name in group]
    split = x.reshape([lengths[name] for name in order])
    unbracketed: list[Any] = []
    for group in after:
        unbracketed += [[name] for name in rest] if group == [_REST] else [group]
    spelt = [[n for name in group for n in (rest if name == _JOINED else [name])] for group in unbracketed]
    moved = split.permute([order.index(name) for group in spelt for name in group])
    sizes = []
    for group in spelt:
        size: Any = 1
        for name in group:
            size = size * lengths[name]
        sizes.append(size)
    return moved.reshape(sizes)
