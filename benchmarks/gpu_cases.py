"""What `benchmarks.gpu` runs: functions in PyTorch's API, at the sizes at which a GPU is full, and small ones for the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """`function(*inputs)`; inputs are made by `tensors`. `moved`: the least bytes that a call reads and writes; `flops`: of
    products. `ways`: of those that `benchmarks.gpu` knows."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[tuple[str, tuple[int, ...]], ...]  # (dtype, sizes); integers are below the number behind the colon
    moved: int = 0
    flops: int = 0
    ways: tuple[str, ...] = ("eager", "compiled", "reduce-overhead")
    tolerance: float = 1e-4

    def tensors(self, torch: ModuleType, device: Any) -> list[Any]:
        """The inputs, the same numbers whatever `torch` is."""
        rng, made = np.random.default_rng(0), []
        for dtype, sizes in self.inputs:
            kind, _, below = dtype.partition(":")
            if below:
                x = torch.from_numpy(rng.integers(0, int(below), sizes))
            else:
                x = torch.from_numpy(rng.standard_normal(sizes).astype(np.float32))
            made.append(x.to(getattr(torch, kind)).to(device))
        return made


SIZES = {"float32": 4, "bfloat16": 2, "int64": 8}


def cases(torch: ModuleType, small: bool) -> Iterator[Case]:
    """All of them. `small`: a few programs each, for the interpreter."""
    F = torch.nn.functional
    rows, columns = (4, 40) if small else (16384, 4096)
    n = rows * columns
    for dtype, size in (("float32", 4), ("bfloat16", 2)):
        loose = 1e-4 if dtype == "float32" else 2e-2
        one = ((dtype, (rows, columns)),)

        def case(name: str, f: Callable[..., Any], *more: Any, passes: float = 2, d=dtype, size=size, one=one, loose=loose, **kw):
            return Case(f"{name} {d}", f, (*one, *more), int(passes * n * size), tolerance=loose, **kw)

        yield case("gelu(x + y) * y", lambda x, y: F.gelu(x + y) * y, *one, passes=3)
        yield case("softmax", lambda x: F.softmax(x, -1))
        yield case("layer norm", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (dtype, (columns,)), (dtype, (columns,)))
        yield case("sum of all", lambda x: x.float().sum(), passes=1)
        yield case("sum of rows", lambda x: x.float().sum(1), passes=1)
        yield case("sum of columns", lambda x: x.float().sum(0), passes=1)
        yield case("transpose", lambda x: x.t().contiguous())
        yield case("cumsum", lambda x: x.float().cumsum(1))
        yield from products(torch, dtype, small, loose)
    k = 4 if small else 1024
    yield Case("sort", lambda x: x.sort(1).values, (("float32", (k, 40 if small else 4096)),), 2 * k * 4096 * 4)
    yield Case("topk of a vocabulary", lambda x: x.topk(5, 1).values, (("float32", (2 if small else 64, 64 if small else 50304)),))
    vocabulary, tokens = (50, 6) if small else (50304, 8192)
    yield Case(
        "cross entropy", lambda x, y: F.cross_entropy(x, y),
        (("float32", (tokens, vocabulary)), (f"int64:{vocabulary}", (tokens,))), tokens * vocabulary * 4,
    )  # fmt: skip
    yield Case(
        "embedding", lambda w, i: F.embedding(i, w),
        (("float32", (vocabulary, 16 if small else 1024)), (f"int64:{vocabulary}", (tokens,))), 2 * tokens * 1024 * 4,
    )  # fmt: skip


def products(torch: ModuleType, dtype: str, small: bool, loose: float) -> Iterator[Case]:
    """Matrix products, a convolution, attention: what has floating-point operations to count."""
    F = torch.nn.functional
    for m, k, n in ((17, 20, 18),) if small else ((4096, 4096, 4096), (8192, 1024, 4096), (512, 512, 512)):
        sides = ((dtype, (m, k)), (dtype, (k, n)))
        yield Case(f"product {m}x{k}x{n} {dtype}", lambda a, b: a @ b, sides, flops=2 * m * k * n, tolerance=loose)
    m = 17 if small else 4096
    mlp = ((dtype, (m, 24 if small else 1024)), (dtype, (32 if small else 4096, 24 if small else 1024)))
    flops = 2 * m * 1024 * 4096
    yield Case(f"gelu of a linear layer {dtype}", lambda x, w: F.gelu(F.linear(x, w)), mlp, flops=flops, tolerance=loose)
    b, c, s = (1, 2, 6) if small else (32, 64, 56)
    image = ((dtype, (b, c, s, s)), (dtype, (c, c, 3, 3)))
    flops = 2 * b * s * s * c * c * 9
    yield Case(f"convolution {dtype}", lambda x, w: F.conv2d(x, w, padding=1), image, flops=flops, tolerance=loose)
    heads = (1, 2, 20, 16) if small else (8, 16, 2048, 64)
    flops = 4 * heads[0] * heads[1] * heads[2] ** 2 * heads[3] // 2
    attention = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    yield Case(f"causal attention {dtype}", attention, ((dtype, heads),) * 3, flops=flops, tolerance=loose)
