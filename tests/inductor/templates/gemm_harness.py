"""Builds kernels of `render_mm` with g++ and calls them through the kernel ABI, with a thread pool made of one thread
that runs the ranges in order, each under its own worker number."""

import ctypes
import hashlib
import subprocess
from pathlib import Path

import numpy as np

from aten import _native
from inductor.templates.mm import preamble

FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv", "-shared", "-fPIC",
         "-nostdlib", "-Wall", "-Werror", "-Wno-unused-function"]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_long)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.c_long, BODY, ctypes.c_void_p)
SCRATCH = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_long, ctypes.c_long)


class Runtime(ctypes.Structure):
    _fields_ = [("parallel_for", PARALLEL_FOR), ("scratch", SCRATCH), ("num_threads", ctypes.c_long),
                ("error", ctypes.c_void_p), ("gemm", ctypes.c_void_p)]


def runtime(threads, table):
    """A WeftKernelRuntime whose scratch memory is NaN until written, and whose end is checked to be untouched."""
    blocks = []

    def parallel_for(n, grain, body, ctx):
        parts = max(1, min(threads, n // max(grain, 1)))
        bounds = [n * i // parts for i in range(parts + 1)]
        for worker in range(parts):
            body(ctx, bounds[worker], bounds[worker + 1], worker)

    def scratch(worker, nbytes):
        block = np.full(nbytes + 192, 0xff, "u1")
        start = -block.ctypes.data % 64
        blocks.append((block, start + nbytes))
        return block.ctypes.data + start

    result = Runtime(PARALLEL_FOR(parallel_for), SCRATCH(scratch), threads, None, table)
    result.blocks = blocks
    return result


def cpu_has(flag):
    return flag in Path("/proc/cpuinfo").read_text().split()


class Builder:
    """Compiles sources into a folder, each text once."""

    def __init__(self, folder):
        self.folder = folder

    def build(self, text, march):
        source = preamble() + text
        path = self.folder / hashlib.sha256((source + march).encode()).hexdigest()[:16]
        if not path.with_suffix(".so").exists():
            path.with_suffix(".cpp").write_text(source)
            done = subprocess.run(["g++", *FLAGS, f"-march={march}", str(path) + ".cpp", "-o", str(path) + ".so"],
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(path) + ".so")

    def call(self, text, name, buffers, symbols=(), threads=1, march="native", level=0):
        """Run kernel `name` of `text` on arrays; checks that it stayed inside its scratch memory."""
        kernel = getattr(self.build(text, march), name)
        kernel.restype = ctypes.c_long
        rt = runtime(threads, _native._gemm_table(level))
        status = kernel((ctypes.c_void_p * len(buffers))(*[b.ctypes.data for b in buffers]),
                        (ctypes.c_long * max(1, len(symbols)))(*symbols), ctypes.byref(rt))
        assert status == 0
        assert all((block[end:] == 0xff).all() for block, end in rt.blocks), "wrote beyond its scratch memory"
