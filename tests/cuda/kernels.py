"""A Triton kernel for tests of the driver layer, and its launch."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import triton
import triton.language as tl

from aten import _cuda
from tests.cuda.sim import Kernel, simulator


@triton.jit
def add_one(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def everyone_writes(x, out, n, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))


SIGNATURE = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


def image_of(fn: Any, **options: Any) -> bytes:
    """What the driver loads: a token for the simulated one, machine code for a real one."""
    if _cuda.device_name(0) == "cudasim":
        return simulator().token(**{fn.fn.__name__: Kernel(fn, SIGNATURE, {"BLOCK": 64}, **options)})
    from inductor.cuda import compile_server

    text = "import triton\nimport triton.language as tl\n\n\n" + textwrap.dedent(inspect.getsource(fn.fn))
    request = {
        "name": fn.fn.__name__,
        "source": text,
        "signature": {n: k for n, k in SIGNATURE.items() if k != "constexpr"},
        "constants": {"BLOCK": 64},
        "divisible": (),
        "options": {"num_warps": 4},
        "capability": 10 * _cuda.capability(0)[0] + _cuda.capability(0)[1],
        "driver": _cuda.driver_version(),
    }
    return compile_server.compiled(request)[0]


class AddOne:
    """out = x + 1, by a launch of the function; `attrs` are promises as ASTSource takes them."""

    def __init__(self, fn=add_one, device=None, **options):
        self.function = _cuda.Module(image_of(fn, **options), device).function(fn.fn.__name__, options.get("shared", 0))

    def __call__(self, x, out, n=None, stream=None):
        n = x.numel() if n is None else n
        self.function.launch(((n + 63) // 64,), 128, 0, (x, out, ("i32", n), None, None), stream and stream.cuda_stream)
        return out
