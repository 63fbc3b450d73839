"""Values that native code does not expect: huge, malformed, overlapping, and objects that change things when asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from aten import _native

INTS = [0, 1, 2, 3, -1, -2, 5, 7, 8, 63, 64, 65, 255, 256, 300, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**33, 2**40]
INTS += [2**61 + 1, 2**62, 2**62 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**70]
WORDS = ["", "cpu", "meta", "cuda", "cuda:99", "float32", "add", "sum", "\0", "é" * 3, "x" * 300, "view", "ij,jk->ik"]
DTYPES = [weft.float32] * 4 + [weft.float64, weft.int64, weft.int64, weft.int32, weft.uint8, weft.int8, weft.bool]
DTYPES += [weft.float16, weft.bfloat16, weft.complex64, weft.complex128, weft.uint16, weft.uint64]
SIZES = [(), (1,), (4,), (2, 3), (3, 3), (2, 3, 4), (1, 2, 8, 8), (1, 1, 8), (2, 4, 8), (0,), (2, 0, 3), (5, 5), (2, 2, 4, 4, 4)]
SIZES += [(4, 4), (1,) * 6, (2,) * 7, (70000,), (260, 260)]

PLAIN = [None, None, ..., slice(None), slice(2**62, None, 2**62), slice(-1, 0, 3), b"bytes", {}, {"a": 1}, set()]
KNOWN: list[Callable[[], Any]] = [
    lambda: weft.device("cpu"),
    lambda: weft.device("meta"),
    weft.Generator,
    lambda: weft.ones(2).untyped_storage(),
    lambda: weft.Size([2, 3]),
    lambda: weft.add,
    lambda: weft.ones(1, requires_grad=True).mul(2).grad_fn,
    lambda: weft.float16,
    lambda: weft.Tensor,
    lambda: memoryview(b"abc"),
    lambda: _native,
    lambda: weft.nn.Parameter(weft.ones(2, 2)),
    lambda: int,
    lambda: len,
    lambda: lambda *args, **kwargs: args,
]
ARRAYS: list[Callable[[], Any]] = [
    lambda: np.arange(6.0)[::-1],
    lambda: np.ones((2, 3), np.float32),
    lambda: np.array(["a"]),
    lambda: np.array(None),
    lambda: np.zeros((0, 3)),
    lambda: np.ones(4, ">f4"),
    lambda: np.float32(2),
    lambda: np.int64(2**62),
    lambda: np.ones(3, [("a", "i4")]),
    lambda: np.lib.stride_tricks.as_strided(np.ones(1), (4, 4), (0, 0)),
]


class Arguments:
    """Draws arguments. Each comes with its text; `held` are the tensors and lists drawn so far, which others may mutate."""

    def __init__(self, seed: Any):
        self.random = random.Random(f"arguments/{seed}")
        self.held: list[Any] = []

    def draw(self, depth: int = 0) -> tuple[Any, str]:
        """Any value."""
        kinds: list[tuple[float, Callable[[], tuple[Any, str]]]] = [
            (4, self.tensor),
            (4, self.integer),
            (1, self.number),
            (1, self.word),
            (1, self.plain),
            (2 if depth < 2 else 0, lambda: self.sequence(depth)),
            (1, self.known),
            (1.5, self.reentrant),
            (0.3, self.array),
            (0.5 if self.held else 0, self.again),
        ]
        chosen = self.random.choices([k for _, k in kinds], [w for w, _ in kinds])[0]
        return chosen()

    def integer(self) -> tuple[Any, str]:
        value = self.random.choice(INTS) if self.random.random() < 0.4 else self.random.randrange(-1, 5)
        return value, str(value)

    def number(self) -> tuple[Any, str]:
        value = self.random.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), -1e308, 1e-320, 1 + 2j, True, False])
        return value, repr(value)

    def word(self) -> tuple[Any, str]:
        value = self.random.choice(WORDS)
        return value, repr(value)

    def plain(self) -> tuple[Any, str]:
        value = self.random.choice(PLAIN)
        return value, repr(value)

    def known(self) -> tuple[Any, str]:
        made = self.random.choice(KNOWN)()
        return made, f"<{type(made).__name__}>"

    def array(self) -> tuple[Any, str]:
        made = self.random.choice(ARRAYS)()
        return made, f"<{type(made).__name__} {getattr(made, 'shape', '')}>"

    def again(self) -> tuple[Any, str]:
        value = self.random.choice(self.held)
        return value, "<again>"

    def tensor(self) -> tuple[Any, str]:
        r = self.random
        large = not self.held or r.random() < 0.2  # products of several large ones take long, and show nothing new
        dtype, sizes = r.choice(DTYPES), r.choice(SIZES if large else SIZES[:-2])
        if r.random() < 0.05:
            made = weft.empty(sizes if r.random() < 0.8 else (2**40, 2**20), dtype=dtype, device="meta")
        elif dtype.is_floating_point:
            made = (weft.rand(sizes) * r.choice([1, 100, -5])).to(dtype)
        else:
            made = weft.from_numpy(np.random.default_rng(r.randrange(10**6)).integers(0, r.choice([2, 4, 100]), sizes)).to(dtype)
        turn = r.random()
        if turn < 0.1 and made.ndim >= 2:
            made = made.transpose(0, -1)
        elif turn < 0.17 and made.ndim:
            made = made[1:] if r.random() < 0.5 else made[::2]
        elif turn < 0.24:
            made = made.expand(r.choice([0, 2, 5]), *made.shape)
        elif turn < 0.27 and not made.ndim:
            made = made.expand(2**40)
        elif turn < 0.3 and dtype is weft.int64 and not made.is_meta:
            made = weft.full(sizes, r.choice([i for i in INTS if -(2**63) <= i < 2**63]))
        if dtype.is_floating_point and r.random() < 0.25:
            made = made.detach().requires_grad_()
        self.held.append(made)
        grad = "g" if made.requires_grad else ""
        return made, f"T{list(made.shape)}{list(made.stride())}:{made.dtype.name}{grad}{'@meta' if made.is_meta else ''}"

    def sequence(self, depth: int) -> tuple[Any, str]:
        n = self.random.choice([0, 1, 1, 2, 2, 3, 4, 70])
        same = self.random.random()
        one = self.tensor if same < 0.3 else self.integer if same < 0.7 else lambda: self.draw(depth + 1)
        items = [one() for _ in range(n)]
        values, text = [v for v, _ in items], ", ".join(t for _, t in items[:4]) + (", ..." if n > 4 else "")
        kind = self.random.random()
        if kind < 0.5:
            self.held.append(values)
            return values, f"[{text}]"
        if kind < 0.9:
            return tuple(values), f"({text})"
        return Shrinking(values, self.held), f"Shrinking([{text}])"

    def reentrant(self) -> tuple[Any, str]:
        value = self.random.choice([0, 1, 2, -1, 2**40])
        return Meddler(self.held, value), f"Meddler({value})"


def meddle(held: list[Any]) -> None:
    """Change what the call that asks may hold: shrink its lists, resize and rebind its tensors."""
    for thing in list(held):
        try:
            if isinstance(thing, list):
                thing.clear()
            elif isinstance(thing, weft.Tensor):
                thing.data = weft.ones(1, dtype=thing.dtype)
        except (RuntimeError, TypeError):  # what can be changed is
            continue
    _native.empty_cache()


class Meddler:
    """A number that meddles when it is asked for its value, and in comparisons, text, hashing and attributes."""

    def __init__(self, held: list[Any], value: int):
        self.held, self.value = held, value

    def _asked(self, *args: Any) -> int:
        meddle(self.held)
        return self.value

    __index__ = __int__ = __hash__ = __len__ = _asked

    def __float__(self) -> float:
        return float(self._asked())

    def __bool__(self) -> bool:
        return bool(self._asked())

    def __eq__(self, other: object) -> bool:
        return bool(self._asked())

    def __iter__(self) -> Any:
        meddle(self.held)
        return iter([1, 2])

    def __getitem__(self, i: Any) -> Any:
        meddle(self.held)
        raise IndexError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        meddle(self.held)
        return args[0] if args else None


class Shrinking(list):
    """A list that is empty once it was iterated or asked for its length."""

    def __init__(self, values: list[Any], held: list[Any]):
        super().__init__(values)
        self.held = held

    def __iter__(self) -> Any:
        for value in list.__iter__(list(self)):
            self.clear()
            meddle(self.held)
            yield value

    def __len__(self) -> int:
        n = list.__len__(self)
        self.clear()
        return n
