"""Compiles and calls kernels from hand-written nests: a stand-in for the Program's runner, in one thread or in
pieces."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from aten import _native
from aten.symbolic.expr import as_expr
from inductor.codegen import toolchain
from inductor.codegen.cpp import render
from inductor.codegen.cpp_vector import Isa, native_isa
from inductor.codegen.kernel import values_of
from inductor.ir import nodes
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.index import row_major
from inductor.ir.loops import Accumulate, Dim, Store

FLAGS = [*toolchain.FLAGS, *toolchain.LINK]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_long)
FOLDER = Path(tempfile.gettempdir()) / "weft-test-kernels"
WIDTHS = [Isa(64), Isa(32)] if native_isa().bytes == 64 else [Isa(32)]


def dim(name: str, size) -> Dim:
    """A dim of a nest: a reduced one where its name begins with r."""
    return Dim(name, as_expr(size), name.startswith("r"))


class Runtime(ctypes.Structure):
    pass


PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.c_long, BODY, ctypes.c_void_p)
SCRATCH = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_long, ctypes.c_long)
Runtime._fields_ = [
    ("parallel_for", PARALLEL_FOR),
    ("scratch", SCRATCH),
    ("num_threads", ctypes.c_long),
    ("error", ctypes.POINTER(ctypes.c_long)),
    ("gemm", ctypes.c_void_p),
]


def compile_text(text: str, isa: Isa) -> Path:
    """The shared object of a translation unit."""
    march = "native" if isa == native_isa() else "x86-64-v3"
    FOLDER.mkdir(exist_ok=True)
    key = hashlib.sha256(f"{text}{march}{FLAGS}".encode()).hexdigest()[:24]
    path = FOLDER / f"{key}.so"
    if not path.exists():
        source = path.with_suffix(".cpp")
        source.write_text(text)
        made = path.with_suffix(".tmp")
        subprocess.run([shutil.which("g++"), *FLAGS, f"-march={march}", str(source), "-o", str(made), "-lmvec", "-lm"], check=True)
        made.rename(path)
    return path


def buffer_of(name: str, a: np.ndarray) -> Buffer:
    strides = tuple(as_expr(s // a.itemsize) for s in a.strides)
    return Buffer(name, "bool" if a.dtype == bool else a.dtype.name, tuple(map(as_expr, a.shape)), strides)


def kernel_of(nests, symbols=(), name="k0") -> Kernel:
    names, writes, roots = {}, {}, []
    for nest in nests:
        for stage in nest.stages:
            values = values_of(stage)
            roots += values
            names.update(dict.fromkeys(n.buffer for n in nodes.loads(values)))
            for s in stage.body:
                if isinstance(s, (Store, Accumulate)):
                    names[s.buffer] = writes[s.buffer] = None
    return Kernel(name, tuple(names), tuple(writes), tuple(symbols), tuple(nests), checks=tuple(nodes.checks(roots)))


def call(kernel: Kernel, arrays: dict[str, np.ndarray], symbols=None, isa: Isa | None = None, pieces=1) -> int:
    """Run the kernel on the arrays; parallel_for is done in `pieces` ranges."""
    isa = isa or native_isa()
    symbols = symbols or {}
    buffers = {name: buffer_of(name, a) for name, a in arrays.items()}
    text = render([kernel], buffers, hints=symbols, isa=isa)
    library = ctypes.CDLL(str(compile_text(text, isa)))
    kept = []

    def parallel_for(n, grain, body, ctx):
        for k in range(pieces):
            body(ctx, n * k // pieces, n * (k + 1) // pieces, 0)

    def scratch(worker, size):
        kept.append(np.empty(size + 64, np.uint8))
        return (kept[-1].ctypes.data + 63) // 64 * 64

    error = (ctypes.c_long * 3)()
    runtime = Runtime(PARALLEL_FOR(parallel_for), SCRATCH(scratch), pieces, error, _native._gemm_table())
    pointers = (ctypes.c_void_p * max(1, len(kernel.args)))(*[arrays[a].ctypes.data for a in kernel.args])
    values = (ctypes.c_long * max(1, len(kernel.symbols)))(*[symbols[s.value] for s in kernel.symbols])
    fn = getattr(library, kernel.name)
    fn.restype = ctypes.c_long
    return fn(pointers, values, ctypes.byref(runtime))


__all__ = ["Buffer", "Isa", "call", "kernel_of", "row_major"]
