"""A Triton kernel for tests of the driver layer, and its launch."""

from __future__ import annotations

import triton
import triton.language as tl

from aten import _cuda
from tests.cuda.sim import Kernel, Simulator


@triton.jit
def add_one(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def everyone_writes(x, out, n, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


SIGNATURE = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


class AddOne:
    """out = x + 1, by a launch of the function; `attrs` are promises as ASTSource takes them."""

    def __init__(self, sim: Simulator, fn=add_one, device=None, **options):
        name = fn.fn.__name__
        image = sim.token(**{name: Kernel(fn, SIGNATURE, {"BLOCK": 64}, **options)})
        self.function = _cuda.Module(image, device).function(name, options.get("shared", 0))

    def __call__(self, x, out, n=None, stream=None):
        n = x.numel() if n is None else n
        self.function.launch(((n + 63) // 64,), 128, 0, (x, out, ("i32", n), None, None), stream and stream.cuda_stream)
        return out
