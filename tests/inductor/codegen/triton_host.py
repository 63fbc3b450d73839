"""Runs rendered Triton kernels through Triton's interpreter, on host memory: how kernels are tested without a GPU.

The interpreter is chosen when triton is imported: TRITON_INTERPRET=1 must stand in the environment before.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

import numpy as np

from aten.symbolic.expr import as_expr, evaluate
from inductor.codegen import triton as codegen
from inductor.codegen.triton_function import Function, Parameter
from inductor.codegen.triton_prelude import PRELUDE
from inductor.ir.buffer import Extern, Kernel, Schedule

NUMPY = {"bool": "int8", "bfloat16": "bfloat16"}


class Storage:
    """The memory of an array, as the interpreter asks for it."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def cpu(self) -> Storage:
        return self

    def copy_(self, other: Storage) -> None:
        """The interpreter writes back what it was given: it was given this very memory."""
        assert other.array is self.array


class HostTensor:
    """An array with the few methods of a tensor that the interpreter calls. `dtype` is a name that Triton knows."""

    def __init__(self, array: np.ndarray, dtype: str):
        self.array, self.dtype = array, dtype

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def untyped_storage(self) -> Storage:
        return Storage(self.array)

    def new_empty(self, size, device=None) -> HostTensor:
        return HostTensor(self.array, self.dtype)

    def set_(self, storage: Storage, offset, size, stride) -> None:
        self.array = storage.array

    def storage_offset(self) -> int:
        return 0

    def size(self) -> tuple:
        return self.array.shape

    def stride(self) -> tuple:
        return tuple(s // self.array.itemsize for s in self.array.strides)


class CheckFailed(Exception):
    """A kernel reported the check `check`."""

    def __init__(self, check):
        super().__init__(f"{check.op}: {check.argument}")
        self.check = check


def load(functions: list[Function]):
    """The module of rendered functions. Triton reads kernels from a file."""
    if os.environ.get("TRITON_INTERPRET") != "1":
        raise RuntimeError("set TRITON_INTERPRET=1 before Python starts: triton chooses its interpreter at import")
    from tests.cuda.sim import libdevice  # it imports triton

    libdevice.patch()
    folder = tempfile.mkdtemp(prefix="weft-triton-")
    path = Path(folder) / "kernels.py"
    path.write_text(PRELUDE + "".join(dict.fromkeys(f.text for f in functions)))
    spec = importlib.util.spec_from_file_location(f"weft_triton_{abs(hash(folder))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(schedule: Schedule, arrays: list[np.ndarray], symbols: dict[str, int], ranges: dict | None = None) -> list:
    """The outputs of a schedule of kernels, on arrays. Raises CheckFailed, or ValueError for a step that is an op."""
    kernels = [s for s in schedule.steps if isinstance(s, Kernel)]
    if any(isinstance(s, Extern) for s in schedule.steps):
        raise ValueError("a schedule with ops cannot run on the interpreter")
    rendered = codegen.render(kernels, schedule.buffers, ranges, symbols)
    module = load([f for functions in rendered.values() for f in functions])
    memory = allocate(schedule, arrays, symbols)
    for k in kernels:
        failed = np.zeros(len(k.checks) + 1, np.int32)
        for f in rendered[k.name]:
            grid = evaluate(f.grid, symbols)
            if grid:
                given = [argument(p, schedule, memory, failed, symbols) for p in f.parameters]
                getattr(module, f.name)[(grid,)](*given, **dict(f.constants))
        if failed.any():
            raise CheckFailed(k.checks[int(failed.argmax())])
    return [output(schedule, o, memory, symbols) for o in schedule.outputs]


def argument(p: Parameter, schedule: Schedule, memory: dict, failed: np.ndarray, symbols: dict):
    """What a parameter is given."""
    if p.source is None:
        return HostTensor(failed, "int32")
    if isinstance(p.source, str):
        dtype = schedule.buffers[p.source].dtype
        return HostTensor(memory[p.source], dtype if dtype != "bool" else "int8")
    return evaluate(p.source, symbols)


def allocate(schedule: Schedule, arrays: list[np.ndarray], symbols: dict[str, int]) -> dict[str, np.ndarray]:
    """Flat memory for every buffer that is not a view; inputs are the arrays' own."""
    memory = {}
    given = iter(arrays)
    for name in schedule.inputs:
        if isinstance(name, str):
            memory[name] = next(given)
    for b in schedule.buffers.values():
        if b.kind == "computed":
            extent = 1 + sum((evaluate(as_expr(s), symbols) - 1) * evaluate(as_expr(t), symbols)
                             for s, t in zip(b.sizes, b.strides))  # fmt: skip
            memory[b.name] = np.zeros(max(extent, 1), numpy_dtype(b.dtype))
    return memory


def numpy_dtype(name: str) -> np.dtype:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def output(schedule: Schedule, o, memory: dict[str, np.ndarray], symbols: dict[str, int]):
    """One output as an array of its sizes, or a number."""
    if not isinstance(o, str):
        return None if o is None else evaluate(as_expr(o), symbols)
    b = schedule.buffers[o]
    if b.kind == "input":
        return memory[o]
    base = memory[b.base or b.name]
    sizes = [evaluate(as_expr(s), symbols) for s in b.sizes]
    strides = [evaluate(as_expr(s), symbols) * base.itemsize for s in b.strides]
    start = evaluate(as_expr(b.offset), symbols)
    last = 1 + start + sum((n - 1) * (t // base.itemsize) for n, t in zip(sizes, strides))
    flat = np.lib.stride_tricks.as_strided(base, (max(last, 0),), (base.itemsize,))
    return np.lib.stride_tricks.as_strided(flat[start:], sizes, strides)
