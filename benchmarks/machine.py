"""What this machine can do at most: the FMA peak and the copy bandwidth, measured in the same run as what is compared with them."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

SOURCE = r"""
#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
typedef float V __attribute__((vector_size(LANES * 4)));
static inline V fma(V a, V b, V c) {
#ifdef __AVX512F__
  return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#else
  return __builtin_ia32_vfmaddps256(a, b, c);
#endif
}
extern "C" long lanes() { return LANES; }
// 24 independent chains hide the latency of the two FMA units.
extern "C" float fma_loop(long n) {
  V acc[24], x = V{} + 0.999999f, y = V{} + 1e-7f;
  for (int i = 0; i < 24; i++) acc[i] = V{} + (float)i;
  for (long k = 0; k < n; k++)
#pragma GCC unroll 24
    for (int i = 0; i < 24; i++) acc[i] = fma(acc[i], x, y);
  V s = {};
  for (int i = 0; i < 24; i++) s += acc[i];
  float r = 0;
  for (int i = 0; i < LANES; i++) r += s[i];
  return r;
}
extern "C" void copy(char *to, const char *from, long n) { __builtin_memcpy(to, from, n); }
"""


def compiler() -> str | None:
    """The C++ compiler that measures, and that weft uses; None without one."""
    return os.environ.get("WEFT_CXX") or shutil.which("g++") or shutil.which("c++")


@functools.cache
def library() -> ctypes.CDLL:
    """The measuring loops, compiled for this processor."""
    folder = tempfile.mkdtemp(prefix="weft-machine-")
    source = Path(folder, "machine.cpp")
    source.write_text(SOURCE)
    cxx = compiler()
    if cxx is None:
        raise RuntimeError("measuring the machine needs a C++ compiler: set WEFT_CXX")
    subprocess.run(
        [cxx, "-O3", "-march=native", "-shared", "-fPIC", str(source), "-o", f"{folder}/machine.so"], check=True
    )
    loaded = ctypes.CDLL(f"{folder}/machine.so")
    loaded.fma_loop.restype = ctypes.c_float
    shutil.rmtree(folder)
    return loaded


def _together(threads: int, work) -> float:
    """Seconds until `threads` concurrent calls of `work`, which releases the GIL, have all ended."""
    barrier = threading.Barrier(threads + 1)

    def run() -> None:
        barrier.wait()
        work()

    pool = [threading.Thread(target=run) for _ in range(threads)]
    for t in pool:
        t.start()
    barrier.wait()
    start = time.perf_counter()
    for t in pool:
        t.join()
    return time.perf_counter() - start


def fma_peak(threads: int = 1, seconds: float = 0.05, repeat: int = 5) -> float:
    """Float32 FLOP/s of `threads` threads that do nothing but independent fused multiply-adds."""
    lib = library()
    flops = lambda n: n * 24 * lib.lanes() * 2
    n = 100_000
    start = time.perf_counter()
    lib.fma_loop(ctypes.c_long(n))
    n = max(n, int(n * seconds / (time.perf_counter() - start)))
    return max(threads * flops(n) / _together(threads, lambda: lib.fma_loop(ctypes.c_long(n))) for _ in range(repeat))


def copy_bandwidth(nbytes: int, repeat: int = 20) -> float:
    """Bytes read plus written a second, by a warmed memcpy of `nbytes` on one thread."""
    import numpy as np

    lib = library()
    source, target = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)
    arguments = (ctypes.c_void_p(target.ctypes.data), ctypes.c_void_p(source.ctypes.data), ctypes.c_long(nbytes))
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        lib.copy(*arguments)
        best = min(best, time.perf_counter() - start)
    return 2 * nbytes / best


def describe() -> str:
    """One line: the processor, its cores that may be used, and its measured limits."""
    model = next(
        (line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
        "unknown processor",
    )
    cores = len(os.sched_getaffinity(0))
    one, every = fma_peak(1), fma_peak(cores)
    peaks = f"FMA peak {one / 1e9:.0f} GFLOP/s one thread, {every / 1e9:.0f} all"
    return f"{model}, {cores} cores; {peaks}; copy {copy_bandwidth(1 << 26) / 1e9:.1f} GB/s"


if __name__ == "__main__":
    print(describe())


def ask_peer(python: str, program: str, seconds: float) -> Any:
    """What `program`, run by another interpreter (which has torch) with `seconds` as its argument, prints as JSON."""
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run([python, "-c", program, str(seconds)], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the peer failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
