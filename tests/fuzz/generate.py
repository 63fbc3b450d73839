"""Seeded core graphs of 5 to 30 pointwise, reduction and view ops.

Values stay bounded and ops whose result jumps (comparisons, argmax) see inputs and integers only, so that a compiled
graph may be compared with eager to rounding.
"""

from __future__ import annotations

import random

import ml_dtypes
import numpy as np

from aten import dtype as dtypes
from aten.symbolic.expr import as_expr
from tests.inductor.graphs import Builder

FLOATS = ["float32", "float32", "float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int8", "uint8"]
SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33, 64]
UNARY = ["neg", "abs", "tanh", "sigmoid", "sin", "cos", "relu", "silu", "erf", "gelu"]
BINARY = ["add", "sub", "mul", "maximum", "minimum"]
OF_NUMBERS = {"maximum": "add", "minimum": "sub"}  # which ask for two tensors: what a number is given to instead
REDUCTIONS = ["sum", "mean", "amax", "amin", "var"]


class Generator:
    """One random graph: `module`, and `arrays` to call it with."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.b = Builder()
        self.arrays: list[np.ndarray] = []
        self.pool: list = []  # nodes
        self.raw: set = set()  # nodes whose values are exact: inputs, integers, and views of them
        self.symbols: list = []
        self.half = False
        self.build()

    # ---- parts

    def pick(self, items):
        return self.random.choice(list(items))

    def meta(self, n):
        return n.meta["val"]

    def float_dtype(self) -> str:
        return self.dtype

    def build(self) -> None:
        r = self.random
        self.dtype = self.pick(FLOATS)
        self.half = self.dtype in ("float16", "bfloat16")
        for k in range(self.pick([0, 0, 0, 1, 2])):
            hint = self.pick([2, 3, 5, 8, 17, 33])
            self.symbols.append((self.b.env.symbol(f"s{k}", hint), hint))
        shape = self.domain()
        for k in range(self.pick([1, 2, 3])):
            self.input(k, shape)
        if r.random() < 0.4:
            self.integer_input(len(self.arrays), shape)
        for _ in range(r.randint(5, 30)):
            self.step()
        outputs = self.outputs()
        self.module = self.b.module(*outputs)

    def domain(self) -> list:
        """The sizes of the first input."""
        rank = self.pick([0, 1, 2, 2, 3, 3, 4])
        shape = [self.size() for _ in range(rank)]
        while np.prod([self.value(s) for s in shape]) > 20000:
            shape[self.random.randrange(rank)] = 2
        return shape

    def dims(self, rank: int) -> list[int]:
        """What a reduction is over."""
        return sorted(self.random.sample(range(rank), self.random.randint(1, rank)))

    def size(self):
        if self.symbols and self.random.random() < 0.4:
            return self.pick(self.symbols)[0]
        return self.pick(SIZES)

    def value(self, size) -> int:
        if isinstance(size, int):
            return size
        from aten.symbolic.expr import evaluate

        return evaluate(as_expr(size), {f"s{k}": h for k, (_, h) in enumerate(self.symbols)})

    def some_shape(self, shape):
        """`shape`, or a shape that broadcasts to it."""
        choice = self.random.random()
        if choice < 0.55 or not shape:
            return list(shape)
        if choice < 0.75:
            return list(shape[self.random.randrange(len(shape)) :])
        return [s if self.random.random() < 0.6 else 1 for s in shape]

    def input(self, k: int, shape) -> None:
        shape = self.some_shape(shape) if k else list(shape)
        numbers = [self.value(s) for s in shape]
        T = np.dtype(getattr(ml_dtypes, self.dtype, None) or self.dtype)
        a = self.numpy.normal(size=numbers).astype(T)
        symbolic = any(not isinstance(s, int) for s in shape)
        order = list(range(len(shape)))
        if not symbolic and len(shape) > 1 and self.random.random() < 0.3:
            self.random.shuffle(order)
        stored = np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order)) if shape else np.array(a)
        self.arrays.append(stored)
        strides = None if symbolic else [s // stored.itemsize for s in stored.strides]
        n = self.b.input(f"x{k}", shape, self.dtype, strides)
        self.pool.append(n)
        self.raw.add(n)

    def integer_input(self, k: int, shape) -> None:
        shape = self.some_shape(shape)
        dtype = self.pick(INTEGERS)
        a = self.numpy.integers(0, 3, size=[self.value(s) for s in shape]).astype(dtype)
        self.arrays.append(a)
        n = self.b.input(f"x{k}", shape, dtype)
        self.pool.append(n)
        self.raw.add(n)

    def outputs(self) -> list:
        unused = [n for n in self.pool if not n.users and n.op != "placeholder"]
        extra = [n for n in self.pool if n.users and n.op != "placeholder"]
        chosen = unused[-6:] + [n for n in extra if self.random.random() < 0.15][:2]
        return chosen or [self.b("neg", self.pool[0])]

    def floats(self):
        return [n for n in self.pool if self.meta(n).dtype.name == self.dtype]

    def keep(self, n, *sources):
        self.pool.append(n)
        if all(s in self.raw for s in sources) and (n.target.kind == "view" or self.meta(n).dtype.name not in FLOATS):
            self.raw.add(n)
        return n

    # ---- steps

    def step(self) -> None:
        kind = self.random.random()
        x = self.pick(self.floats() if kind < 0.85 else self.pool)
        if kind < 0.25:
            self.unary(x)
        elif kind < 0.5:
            self.binary(x)
        elif kind < 0.65:
            self.reduction(x)
        elif kind < 0.7:
            self.choice(x)
        elif kind < 0.73:
            self.scan(x)
        else:
            self.view(x)

    def unary(self, x) -> None:
        name = self.pick(UNARY)
        self.keep(self.b(name, x, approximate="none") if name == "gelu" else self.b(name, x))

    def partner(self, x):
        """A float node whose sizes broadcast with x's."""
        fitting = [n for n in self.floats() if self.broadcasts(n, x)]
        return self.pick(fitting) if fitting and self.random.random() < 0.8 else round(self.random.uniform(-2, 2), 3)

    def broadcasts(self, a, b) -> bool:
        sizes = list(zip(reversed(self.meta(a).sizes), reversed(self.meta(b).sizes)))
        known = lambda s: isinstance(s, int) and s == 1
        return all(as_expr(s) is as_expr(t) or known(s) or known(t) for s, t in sizes)

    def binary(self, x) -> None:
        y = self.partner(x)
        if self.random.random() < 0.15:
            size = self.b("add", self.b("abs", y), 1.0) if not isinstance(y, float) else 2.5
            self.keep(self.b("div", x, size))
            return
        name = self.pick(BINARY)
        out = self.b(OF_NUMBERS.get(name, name) if isinstance(y, float) else name, x, y)
        self.keep(self.b("tanh", out) if out.target.name == "mul" else out)  # products would grow

    def choice(self, x) -> None:
        """where by a comparison of exact values."""
        exact = [n for n in self.raw if self.broadcasts(n, x) and self.meta(n).dtype.name != "bool"]
        if not exact:
            return
        name = self.pick(["lt", "ge", "eq", "ne"])
        c = self.b(name, self.pick(sorted(exact, key=lambda n: n.name)), 1)
        other = self.partner(x)
        if not isinstance(other, float) and not self.broadcasts(other, c):
            other = 0.5
        try:
            self.keep(self.b("where", c, x, other))
        except RuntimeError:  # the three together do not broadcast
            return

    def reduction(self, x) -> None:
        rank = self.meta(x).ndim
        if not rank:
            return
        dims = self.dims(rank)
        keepdim = self.random.random() < 0.5
        if x in self.raw and self.random.random() < 0.3:
            d = self.pick(range(rank))
            self.keep(self.b(self.pick(["argmax", "argmin"]), x, d, keepdim), x)
            return
        name = self.pick(REDUCTIONS)
        if name == "var":
            self.keep(self.b("var", x, dims, self.pick([0, 1]) if self.numel(x, dims) > 1 else 0, keepdim))
        elif name == "sum":
            total = self.b("sum", x, dims, keepdim)
            self.keep(self.b("mul", total, 0.1) if self.numel(x, dims) < 50 else self.b("tanh", total))
        elif self.random.random() < 0.2:
            top = self.b("exp", self.b("sub", x, self.b("amax", x, dims[:1], True)))
            self.keep(self.b("div", top, self.b("sum", top, dims[:1], True)))
        else:
            self.keep(self.b(name, x, dims, keepdim))

    def numel(self, x, dims) -> int:
        return int(np.prod([self.value(self.meta(x).sizes[d]) for d in dims]))

    def scan(self, x) -> None:
        if self.meta(x).ndim and not self.half:
            self.keep(self.b("tanh", self.b("cumsum", x, self.pick(range(self.meta(x).ndim)))))

    def view(self, x) -> None:
        name = self.pick(
            [
                "permute",
                "view",
                "expand",
                "unsqueeze",
                "squeeze",
                "slice",
                "select",
                "flip",
                "cat",
                "pad",
                "diagonal",
                "tril",
                "cast",
                "index_select",
            ]
        )
        made = getattr(self, "do_" + name)(x)
        if made is not None:
            self.keep(made, x)

    def do_permute(self, x):
        dims = list(range(self.meta(x).ndim))
        self.random.shuffle(dims)
        return self.b("permute", x, dims)

    def do_view(self, x):
        meta = self.meta(x)
        if not meta.is_contiguous() or not meta.ndim:
            x = self.b("clone", x)
        sizes = list(self.meta(x).sizes)
        if len(sizes) > 1 and self.random.random() < 0.6:
            d = self.random.randrange(len(sizes) - 1)
            sizes[d : d + 2] = [sizes[d] * sizes[d + 1]]
        else:
            for d, s in enumerate(sizes):
                if isinstance(s, int) and s > 3 and s % 2 == 0 and len(sizes) < 5:
                    sizes[d : d + 1] = [2, s // 2] if self.random.random() < 0.5 else [s // 2, 2]
                    break
            else:
                sizes = [1, *sizes] if len(sizes) < 4 else sizes
        if not self.meta(x).is_contiguous():
            x = self.b("clone", x)
        if not self.meta(x).is_contiguous():
            return None
        return self.b("view", x, sizes)

    def do_expand(self, x):
        sizes = [3 if isinstance(s, int) and s == 1 else s for s in self.meta(x).sizes]
        if len(sizes) < 4 and self.random.random() < 0.3:
            sizes = [2, *sizes]
        return self.b("expand", x, sizes) if self.numel_of(sizes) < 50000 else None

    def numel_of(self, sizes) -> int:
        return int(np.prod([self.value(s) for s in sizes]))

    def do_unsqueeze(self, x):
        rank = self.meta(x).ndim
        return self.b("unsqueeze", x, self.random.randint(0, rank)) if rank < 4 else None

    def do_squeeze(self, x):
        dims = [d for d, s in enumerate(self.meta(x).sizes) if isinstance(s, int) and s == 1]
        return self.b("squeeze", x, dims) if dims else None

    def do_slice(self, x):
        dims = [d for d, s in enumerate(self.meta(x).sizes) if isinstance(s, int) and s > 1]
        if not dims:
            return None
        d = self.pick(dims)
        size = self.meta(x).sizes[d]
        start = self.random.randint(0, size - 1)
        return self.b("slice", x, d, start, self.random.randint(start + 1, size), self.pick([1, 1, 2, 3]))

    def do_select(self, x):
        dims = [d for d, s in enumerate(self.meta(x).sizes) if isinstance(s, int) and s > 0]
        if not dims:
            return None
        d = self.pick(dims)
        return self.b("select", x, d, self.random.randrange(self.meta(x).sizes[d]))

    def do_flip(self, x):
        rank = self.meta(x).ndim
        return self.b("flip", x, sorted(self.random.sample(range(rank), self.random.randint(1, rank)))) if rank else None

    def do_cat(self, x):
        sizes = self.meta(x).sizes
        if not sizes or self.numel_of(sizes) > 20000:
            return None
        d = self.random.randrange(len(sizes))
        fits = lambda n: (
            self.meta(n).dtype is self.meta(x).dtype
            and len(self.meta(n).sizes) == len(sizes)
            and all(as_expr(a) is as_expr(b) for k, (a, b) in enumerate(zip(self.meta(n).sizes, sizes)) if k != d)
        )
        return self.b("cat", [x, self.pick([n for n in self.pool if fits(n)])], d)

    def do_pad(self, x):
        if not self.meta(x).ndim or self.numel_of(self.meta(x).sizes) > 20000:
            return None
        return self.b("constant_pad_nd", x, [self.random.randint(0, 3), self.random.randint(0, 3)], 0.5)

    def do_diagonal(self, x):
        sizes = self.meta(x).sizes
        if len(sizes) < 2 or not all(isinstance(s, int) for s in sizes[:2]):
            return None
        return self.b("diagonal", x, self.pick([0, 1]) if sizes[1] > 1 else 0, 0, 1)

    def do_tril(self, x):
        return self.b(self.pick(["tril", "triu"]), x, self.pick([-1, 0, 1])) if self.meta(x).ndim > 1 else None

    def do_cast(self, x):
        if self.meta(x).dtype.name == self.dtype:
            return None
        return self.b("cast", x, getattr(dtypes, self.dtype))

    def do_index_select(self, x):
        dims = [d for d, s in enumerate(self.meta(x).sizes) if isinstance(s, int) and s > 0]
        if not dims:
            return None
        d = self.pick(dims)
        size = self.meta(x).sizes[d]
        index = self.b(
            "remainder",
            self.b("arange", 0, self.random.randint(1, 9), 1, dtype=dtypes.int64, device=self.meta(x).device),
            size,
        )
        return self.b("index_select", x, d, index)


class Rows(Generator):
    """Graphs over many rows, mostly reduced along the last dim: what loops over rows side by side, in chunks, and in every
    width of what is left of a vector."""

    def domain(self) -> list:
        columns = self.pick([1, 3, 15, 16, 17, 63, 64, 65, 100, 127, 200, 257])
        rows = self.pick([64, 65, 100, 129])
        return self.pick([[rows, columns], [2, rows // 2 + 1, columns], [rows, 1, columns]])

    def dims(self, rank: int) -> list[int]:
        return [rank - 1] if self.random.random() < 0.8 else super().dims(rank)
