"""An interpreter of Programs in Python: what the native runner is tested against.

`run(program, inputs, kernels)` does, slowly and plainly, what `inductor._runner.Program` does: on NumPy arrays and
numbers, returning arrays and numbers. Kernels are Python functions `(arrays of bytes, numbers) -> code`, or those of a
library, through `library_kernels`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from aten import _native
from inductor.ir import values as value_table
from inductor.ir.buffer import ITEMSIZE
from inductor.ir.program import Program

Kernels = dict[str, Callable[[list[int], list[int]], int]]


class Failed(Exception):
    """A check of the Program failed: `record` is its row of `program.checks`, None where a size does not exist."""

    def __init__(self, record, value: int = 0, bound: int = 0):
        super().__init__(record)
        self.record, self.value, self.bound = record, value, bound


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def run(program: Program, inputs: Sequence[Any], kernels: Kernels, ops: dict[str, Callable] | None = None) -> tuple:
    """The outputs of a call. `ops` gives the functions of Extern and Python steps, on arrays."""
    return _Call(program, list(inputs), kernels, ops or {}).run()


class _Call:
    def __init__(self, program: Program, inputs: list, kernels: Kernels, ops: dict[str, Callable]):
        self.p, self.inputs, self.kernels, self.ops = program, inputs, kernels, ops
        self.v: list[Any] = []
        self.arrays: dict[int, np.ndarray] = {}

    def run(self) -> tuple:
        p = self.p
        self.evaluate(0, p.prologue)
        for spec, x in zip(p.inputs, self.inputs, strict=True):
            if spec.kind == "tensor":
                assert x.dtype == numpy_dtype(spec.dtype), (spec, x.dtype)
                assert list(x.shape) == [self.v[i] for i in spec.sizes], (spec, x.shape)
                strides = [self.v[i] * x.itemsize for i in spec.strides]
                assert all(n == 1 or a == b for n, a, b in zip(x.shape, x.strides, strides)) or not x.size, (
                    spec,
                    x.strides,
                )
        arena = np.empty(self.v[p.arena] if p.arena != -1 else 0, np.uint8)
        for i, b in enumerate(p.buffers):
            if b.kind == "input":
                self.arrays[i] = self.inputs[b.base]
            elif b.kind == "arena":
                self.arrays[i] = self.strided(arena, self.v[b.offset], b)
        for step in p.steps:
            getattr(self, type(step).__name__)(step)
        return tuple(self.output(o) for o in p.outputs)

    def evaluate(self, start: int, stop: int) -> None:
        for op, *args in self.p.values[start:stop]:
            if op == "const":
                self.v.append(args[0])
            elif op == "input":
                self.v.append(self.inputs[args[0]])
            elif op in ("size", "stride"):
                x = self.inputs[args[0]]
                self.v.append(x.shape[args[1]] if op == "size" else x.strides[args[1]] // x.itemsize)
            elif op in ("result_size", "result_stride"):
                x = self.arrays[args[0]]
                self.v.append(x.shape[args[1]] if op == "result_size" else x.strides[args[1]] // x.itemsize)
            elif op == "item":
                self.v.append(self.arrays[args[0]].item())
            elif op in ("seed", "rng_offset"):
                raise NotImplementedError("the oracle has no generator")
            else:
                try:
                    self.v.append(value_table.apply(op, *(self.v[a] for a in args)))
                except value_table.Failed as e:
                    raise Failed(None) from e

    def strided(self, memory: np.ndarray, at: int, b) -> np.ndarray:
        """A view of bytes by a layout of the Program."""
        size = ITEMSIZE[b.dtype]
        dims, strides = ([self.v[i] for i in part] for part in (b.sizes, b.strides))
        if 0 in dims:
            return np.empty(dims, numpy_dtype(b.dtype))
        extent = at + size * (1 + sum((n - 1) * s for n, s in zip(dims, strides)))
        assert 0 <= at and extent <= memory.nbytes, f"{b} leaves its memory"
        flat = memory[at:extent]
        typed = flat.view(numpy_dtype(b.dtype)) if at % size == 0 else flat
        return np.lib.stride_tricks.as_strided(typed, dims, [s * size for s in strides])

    def argument(self, a) -> Any:
        kind, x = a
        if kind == "buffer":
            return self.arrays[x]
        if kind.endswith("value"):
            return bool(self.v[x]) if kind == "bool_value" else self.v[x]
        if kind == "list":
            return [self.argument(i) for i in x]
        if kind == "complex":
            return complex(*x)
        return numpy_dtype(x) if kind == "dtype" else x

    def output(self, o) -> Any:
        if o.kind == "buffer":
            return self.arrays[o.index]
        if o.kind == "input":
            return self.inputs[o.index]
        if o.kind in ("view", "part"):
            base = (self.inputs if o.kind == "view" else self.arrays)[o.index]
            return _view(base, self.v[o.offset], *([self.v[i] for i in d] for d in (o.sizes, o.strides)))
        if o.kind == "constant":
            return o.literal
        return bool(self.v[o.index]) if o.kind == "bool" else self.v[o.index]

    # ---- steps
    def Alloc(self, s):
        self.take(s.buffer)

    def take(self, buffer):
        b = self.p.buffers[buffer]
        dims, strides = ([self.v[i] for i in part] for part in (b.sizes, b.strides))
        extent = 0 if 0 in dims else 1 + sum((n - 1) * t for n, t in zip(dims, strides))
        self.arrays[buffer] = self.strided(np.empty(extent * ITEMSIZE[b.dtype], np.uint8), 0, b)

    def View(self, s):
        b = self.p.buffers[s.buffer]
        dims = ([self.v[i] for i in part] for part in (b.sizes, b.strides))
        self.arrays[s.buffer] = _view(self.arrays[b.base], self.v[b.offset], *dims)

    def Evaluate(self, s):
        self.evaluate(s.start, s.stop)

    def Kernel(self, s):
        values = [value if isinstance(value := self.v[i], int) else _bits(value) for i in s.values]
        code = self.kernels[s.name]([self.arrays[i].ctypes.data for i in s.buffers], values)
        code, value, bound = code if isinstance(code, tuple) else (code, 0, 0)
        if code:
            raise Failed(self.p.checks[s.first_check + code - 1] if s.first_check != -1 else None, value, bound)

    def Extern(self, s):
        for i in s.outputs:
            if self.p.buffers[i].kind == "returned":
                self.take(i)
        outs = [self.arrays[i] for i in s.outputs]
        kwargs = {k: self.argument(a) for k, a in s.kwargs}
        self.ops[s.op](*map(self.argument, s.args), **kwargs, out=outs[0] if len(outs) == 1 else tuple(outs))

    def Python(self, s):
        result = self.ops[s.op](*map(self.argument, s.args), **{k: self.argument(a) for k, a in s.kwargs})
        for i, x in zip(s.outputs, result if isinstance(result, tuple) else (result,), strict=True):
            self.arrays[i] = x

    def Copy(self, s):
        self.arrays[s.target][...] = self.arrays[s.source]

    def Loop(self, s):
        state = [self.arrays[i] for i in s.carried]
        captured = [self.arrays[i] for i in s.captured]
        while run(s.condition, state + captured, self.kernels, self.ops)[0]:
            state = list(run(s.body, state + captured, self.kernels, self.ops))
        for i, x in zip(s.results, state):
            self.arrays[i] = x.copy()

    def Cond(self, s):
        chosen = s.then if self.arrays[s.predicate] else s.otherwise
        results = run(chosen, [self.arrays[i] for i in s.operands], self.kernels, self.ops)
        self.arrays.update(zip(s.results, results))

    def RngAdvance(self, s):
        raise NotImplementedError("the oracle has no generator")

    def Check(self, s):
        if not self.v[s.value]:
            raise Failed(self.p.checks[s.check])


def _view(x: np.ndarray, offset: int, sizes: list[int], strides: list[int]) -> np.ndarray:
    """A view that starts `offset` elements behind the first element of x."""
    if 0 in sizes:
        return np.empty(sizes, x.dtype)
    start = np.lib.stride_tricks.as_strided(x, (offset + 1,), (x.itemsize,))[offset:] if offset >= 0 else x
    return np.lib.stride_tricks.as_strided(start, sizes, [s * x.itemsize for s in strides])


def _bits(x: float) -> int:
    return int(np.float64(x).view(np.int64))


# ----------------------------------------------------------------------------------------------- kernels of a library
_BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, _BODY, ctypes.c_void_p)
_SCRATCH = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class _Error(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ("check", "value", "bound")]


class _Runtime(ctypes.Structure):
    _fields_ = [("parallel_for", _PARALLEL), ("scratch", _SCRATCH), ("num_threads", ctypes.c_int64),
                ("error", ctypes.POINTER(_Error)), ("gemm", ctypes.c_void_p)]  # fmt: skip


def library_kernels(path: str) -> Kernels:
    """The kernels of a shared object, by name, called through ctypes on one thread, in ranges of `grain`."""
    library = ctypes.CDLL(path)
    memory: list[Any] = []

    def parallel_for(n, grain, body, ctx):
        grain = max(grain, 1)
        for begin in range(0, n, grain):
            body(ctx, begin, min(begin + grain, n), 0)

    def scratch(worker, nbytes):
        memory[:] = [ctypes.create_string_buffer(nbytes + 64)]
        return -(-ctypes.addressof(memory[0]) // 64) * 64

    error = _Error()
    runtime = _Runtime(_PARALLEL(parallel_for), _SCRATCH(scratch), 1, ctypes.pointer(error), _native._gemm_table())

    def bind(name):
        fn = getattr(library, name)
        fn.restype = ctypes.c_int64

        def call(addresses, numbers):
            error.value = error.bound = 0
            code = fn(
                (ctypes.c_void_p * len(addresses))(*addresses),
                (ctypes.c_int64 * max(len(numbers), 1))(*numbers),
                ctypes.byref(runtime),
            )
            return code, error.value, error.bound

        return call

    class Bound(dict):
        def __missing__(self, name):
            self[name] = bind(name)
            return self[name]

    return Bound()
