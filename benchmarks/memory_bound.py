"""Which share of the machine's copying speed fused kernels reach on functions that are bound by memory.

python -m benchmarks.memory_bound [--seconds S] [--peer-python PATH]

Bytes are those of every distinct input and output, once. Beside each stands a warmed memcpy of half as many bytes (it
reads and writes, so it moves as many), on as many threads, measured in turns with it; outputs are freed between calls.
The peer runs the same functions with torch.compile.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import ask_peer

LIMIT = 0.60


def cases(torch: Any) -> list[tuple[str, Callable, tuple]]:
    """(name, function, inputs) in the API of `torch`, which is weft or PyTorch."""
    F = torch.nn.functional
    random = np.random.default_rng(0)

    def make(*sizes):
        return torch.from_numpy(random.normal(size=sizes).astype("f4"))

    def gelu(x, bias, residual):
        return F.gelu(x + bias) + residual

    def layer_norm(x, weight, bias):
        return F.layer_norm(x, (x.shape[-1],), weight, bias)

    found: list[tuple[str, Callable, tuple]] = []
    for rows, columns in ((4096, 1024), (4095, 1023)):
        x, bias, residual = make(rows, columns), make(columns), make(rows, columns)
        found.append((f"gelu(x + bias) + residual [{rows},{columns}]", gelu, (x, bias, residual)))
    x, bias, residual = make(1024, 4096), make(1024), make(4096, 1024)
    found.append(("gelu(x.T + bias) + residual [4096,1024]", lambda x, b, r: gelu(x.T, b, r), (x, bias, residual)))
    for rows, columns in ((2048, 1024), (2047, 1023)):
        x, weight, bias = make(rows, columns), make(columns), make(columns)
        found.append((f"softmax [{rows},{columns}]", lambda x: torch.softmax(x, -1), (x,)))
        found.append((f"layer_norm [{rows},{columns}]", layer_norm, (x, weight, bias)))
    for n in (4096, 4095):
        x = make(n, n)
        found.append((f"sum all [{n},{n}]", lambda x: x.sum(), (x,)))
        found.append((f"sum rows [{n},{n}]", lambda x: x.sum(1), (x,)))
        found.append((f"sum columns [{n},{n}]", lambda x: x.sum(0), (x,)))
        found.append((f"sum all x.T [{n},{n}]", lambda x: x.T.sum(), (x,)))
        found.append((f"sum rows x.T [{n},{n}]", lambda x: x.T.sum(1), (x,)))
    return found


def nbytes(inputs: tuple, output: Any) -> int:
    return sum(t.numel() * 4 for t in (*inputs, output))


class Copy:
    """memcpy of `size` bytes in equal parts on `threads` threads, warmed."""

    def __init__(self, size: int, threads: int):
        from benchmarks.machine import library

        part = max(size // threads, 64)
        self.copy = library().copy
        buffers = [(np.ones(part, np.uint8), np.ones(part, np.uint8)) for _ in range(threads)]
        self.arguments = [
            (ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(b.ctypes.data), ctypes.c_long(part)) for a, b in buffers
        ]
        self.buffers = buffers

    def seconds(self, repeat: int) -> float:
        """Seconds a copy, of `repeat` in a row on every thread at once."""

        def work(arguments):
            barrier.wait()
            start = time.perf_counter()
            for _ in range(repeat):
                self.copy(*arguments)
            spans.append((start, time.perf_counter()))

        spans: list[tuple[float, float]] = []
        barrier = threading.Barrier(len(self.arguments))
        pool = [threading.Thread(target=work, args=(a,)) for a in self.arguments[1:]]
        for t in pool:
            t.start()
        work(self.arguments[0])
        for t in pool:
            t.join()
        return (max(end for _, end in spans) - min(start for start, _ in spans)) / repeat


def call_seconds(f: Callable, inputs: tuple, repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        f(*inputs)  # the result is freed at once
    return (time.perf_counter() - start) / repeat


def measure(torch: Any, threads: int, seconds: float, with_copy: bool) -> list[tuple[str, int, float, float]]:
    """(name, bytes, best seconds of a call, best seconds of the copy) of each case."""
    torch.set_num_threads(threads)
    rows = []
    with torch.no_grad():
        for name, function, inputs in cases(torch):
            torch.compiler.reset()  # or the second size of a function would be compiled for all sizes
            f = torch.compile(function)
            size = nbytes(inputs, f(*inputs))
            copy = Copy(size // 2, threads) if with_copy else None
            repeat = 3
            best, best_copy = float("inf"), float("inf")
            call_seconds(f, inputs, 2)
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                best = min(best, call_seconds(f, inputs, repeat))
                if copy is not None:
                    best_copy = min(best_copy, copy.seconds(repeat))
            rows.append((name, size, best, best_copy))
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\x1b[2K{threads} threads: {name}")
    return rows


PEER = """
import json, sys, torch
from benchmarks.memory_bound import measure
rows = {n: measure(torch, n, float(sys.argv[1]), False) for n in (1, 2)}
print(json.dumps({n: {name: best for name, _, best, _ in r} for n, r in rows.items()}))
"""


def peer_seconds(python: str, seconds: float) -> dict[str, dict[str, float]]:
    """By number of threads and case, torch.compile's seconds a call."""
    return ask_peer(python, PEER, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.8, help="how long each case is measured (default 0.8)")
    parser.add_argument("--peer-python", help="an interpreter that has torch")
    options = parser.parse_args()
    import weft

    peer = peer_seconds(options.peer_python, options.seconds) if options.peer_python else {}
    good = True
    for threads in (1, 2):
        print(f"\n{threads} thread{'s' if threads > 1 else ''}{'':34}{'GB/s':>8}{'memcpy':>8}{'share':>8}{'torch':>8}")
        for name, size, best, best_copy in measure(weft, threads, options.seconds, True):
            share = best_copy / best
            good &= share >= LIMIT
            beside = f"{size / peer[str(threads)][name] / 1e9:8.1f}" if peer else ""
            mark = "" if share >= LIMIT else "   below 60 %"
            print(f"{name:<43}{size / best / 1e9:8.1f}{size / best_copy / 1e9:8.1f}{share:8.0%}{beside}{mark}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
