"""Nested containers as a flat list of leaves and a hashable description of the nesting.

Containers are tuple, list, dict (insertion order), OrderedDict, named tuples, None, and what `register` adds.
Everything else is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple


class Spec(NamedTuple):
    """The shape of a tree: `kind` is None for a leaf, else the container's type."""

    kind: type | None
    context: Any
    children: tuple[Spec, ...]
    num_leaves: int

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        if self.kind is type(None):
            return "None"
        inner = ", ".join(map(repr, self.children))
        if self.kind is tuple:
            return f"({inner},)" if len(self.children) == 1 else f"({inner})"
        if self.kind is list:
            return f"[{inner}]"
        if self.kind is dict:
            return "{" + ", ".join(f"{k!r}: {c!r}" for k, c in zip(self.context, self.children)) + "}"
        return f"{self.kind.__name__}({inner})"


class _Container(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[list[Any], Any], Any]


LEAF = Spec(None, None, (), 1)
_containers: dict[type, _Container] = {
    tuple: _Container(lambda x: (x, None), lambda items, _: tuple(items)),
    list: _Container(lambda x: (x, None), lambda items, _: list(items)),
    dict: _Container(lambda x: (x.values(), tuple(x)), lambda items, keys: dict(zip(keys, items))),
    OrderedDict: _Container(lambda x: (x.values(), tuple(x)), lambda items, keys: OrderedDict(zip(keys, items))),
    type(None): _Container(lambda x: ((), None), lambda items, _: None),
}


def register(cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[list[Any], Any], Any]) -> None:
    """Make `cls` a container: `flatten(x) -> (items, context)`, `unflatten(items, context) -> x`; context is
    hashable.
    """
    _containers[cls] = _Container(flatten, unflatten)


def is_container(cls: type) -> bool:
    """Whether objects of the class are taken apart."""
    return cls in _containers


def _container(x: Any) -> _Container | None:
    cls = type(x)
    known = _containers.get(cls)
    if known is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        known = _containers[cls] = _Container(lambda x: (x, None), lambda items, _: cls(*items))
    return known


def _flatten(x: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> Spec:
    container = None if is_leaf is not None and is_leaf(x) else _container(x)
    if container is None:
        leaves.append(x)
        return LEAF
    items, context = container.flatten(x)
    children = tuple([_flatten(item, leaves, is_leaf) for item in items])
    return Spec(type(x), context, children, sum(c.num_leaves for c in children))


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Spec]:
    """Leaves in order, and the Spec that `unflatten` takes. `is_leaf(x)` true stops the descent at x."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of `tree` in order."""
    return flatten(tree, is_leaf)[0]


def unflatten(leaves: Iterable[Any], spec: Spec) -> Any:
    """The tree with these leaves. Raises ValueError if their number is not the Spec's."""
    items = list(leaves)
    if len(items) != spec.num_leaves:
        raise ValueError(f"unflatten: {len(items)} leaves for a tree of {spec.num_leaves}: {spec}")
    return _build(spec, iter(items))


def _build(spec: Spec, leaves: Iterator[Any]) -> Any:
    # No function inside `unflatten`, which would refer to itself, and so keep the leaves until the collector comes.
    if spec.kind is None:
        return next(leaves)
    return _containers[spec.kind].unflatten([_build(c, leaves) for c in spec.children], spec.context)


def map_leaves(fn: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """`fn` of each leaf of `tree` (with the leaves at the same places of `rest`), in the same nesting."""
    flat, spec = flatten(tree)
    others = []
    for other in rest:
        more, other_spec = flatten(other)
        if other_spec != spec:
            raise ValueError(f"map_leaves: the trees differ: {spec} and {other_spec}")
        others.append(more)
    return unflatten([fn(*xs) for xs in zip(flat, *others)], spec)
