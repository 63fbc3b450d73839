"""Which share of the machine's FMA peak compiled matrix products reach, packing and allocation counted in every call.

python -m benchmarks.matmul [--seconds S] [--peer-python PATH]

Sizes are MxKxN, float32. The peak of one thread is measured in turns with each product. M = 1 stands beside the time of
summing a matrix of the same bytes, on as many threads. The peer runs the same functions with torch.compile.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.machine import ask_peer

SIZES = [(64, 512, 2048), (128, 768, 3072), (512, 512, 512), (1024, 1024, 1024)]
LAYOUTS = {"x @ w": 0.70, "linear(x, w)": 0.60, "x.T @ g": 0.60}  # least share of one thread's peak
TWO_THREADS, VECTOR, NEIGHBOUR, FUSED = 1.7, 0.70, 0.85, 1 / 1.10


@dataclass
class Case:
    name: str
    function: Callable
    inputs: tuple
    flops: int


def make(torch: Any, *sizes: int) -> Any:
    return torch.from_numpy(np.random.default_rng(0).normal(size=sizes).astype("f4"))


def product_case(torch: Any, layout: str, m: int, k: int, n: int) -> Case:
    functions = {
        "x @ w": (lambda x, w: x @ w, (m, k), (k, n)),
        "linear(x, w)": (torch.nn.functional.linear, (m, k), (n, k)),
        "x.T @ g": (lambda x, g: x.T @ g, (k, m), (k, n)),
    }
    f, *sizes = functions[layout]
    return Case(f"{layout:<13} {m}x{k}x{n}", lambda x, w: f(x, w), tuple(make(torch, *s) for s in sizes), 2 * m * k * n)


def fused_case(torch: Any, m: int, k: int, n: int) -> Case:
    F = torch.nn.functional
    inputs = (make(torch, m, k), make(torch, n, k), make(torch, n))
    return Case(f"gelu(linear)  {m}x{k}x{n}", lambda x, w, b: F.gelu(F.linear(x, w, b)), inputs, 2 * m * k * n)


def timed(f: Callable, inputs: tuple) -> float:
    start = time.perf_counter()
    f(*inputs)
    return time.perf_counter() - start


def fastest(calls: list[tuple[Callable, tuple]], seconds: float) -> list[float]:
    """Best seconds of each call, taken in turns, so that what else the machine does falls on all alike."""
    best = [min(timed(f, x) for _ in range(3)) for f, x in calls]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, (f, x) in enumerate(calls):
            best[i] = min(best[i], timed(f, x))
    return best


def compiled(torch: Any, case: Case) -> tuple[Callable, tuple]:
    f = torch.compile(case.function)
    f(*case.inputs)
    return f, case.inputs


def peak_call(steps: int = 2000) -> tuple[Callable, tuple, float]:
    """A call that does nothing but multiply-adds, and its FLOPs."""
    from benchmarks.machine import library

    lib = library()
    return lib.fma_loop, (ctypes.c_long(steps),), steps * 24 * lib.lanes() * 2


class Report:
    def __init__(self, peer: dict[str, float]):
        self.peer, self.good = peer, True

    def line(self, name: str, figures: str, passed: bool, wanted: str) -> None:
        self.good &= passed
        beside = f"   torch {self.peer[name]:4.0f}" if name in self.peer else ""
        print(f"{name:<34}{figures}{beside}{'' if passed else f'   below {wanted}'}", flush=True)


def products(torch: Any, report: Report, seconds: float) -> None:
    """Shares of the peak, and what a second thread brings."""
    print(f"\n{'float32':<34}{'GFLOP/s':>8}{'peak':>7}{'share':>7}{'2 threads':>11}")
    for layout, least in LAYOUTS.items():
        for m, k, n in SIZES:
            torch.compiler.reset()
            case = product_case(torch, layout, m, k, n)
            f, inputs = compiled(torch, case)
            loop, steps, loop_flops = peak_call()
            torch.set_num_threads(1)
            one, base = fastest([(f, inputs), (loop, steps)], seconds)
            torch.set_num_threads(2)
            two = fastest([(f, inputs)], seconds)[0]
            share, gain = base / one * case.flops / loop_flops, one / two
            figures = f"{case.flops / one / 1e9:8.0f}{loop_flops / base / 1e9:7.0f}{share:7.0%}{gain:10.2f}x"
            report.line(case.name, figures, share >= least and gain >= TWO_THREADS, f"{least:.0%} or {TWO_THREADS}x")


def vectors(torch: Any, report: Report, seconds: float) -> None:
    """M = 1 against summing as many bytes."""
    print(f"\n{'M = 1':<34}{'GB/s':>8}{'sum':>7}{'ratio':>7}")
    for threads in (1, 2):
        for layout in ("x @ w", "linear(x, w)"):
            for _, k, n in SIZES[1:]:
                torch.set_num_threads(threads)
                torch.compiler.reset()
                case = product_case(torch, layout, 1, k, n)
                f, inputs = compiled(torch, case)
                total = torch.compile(lambda w: w.sum())
                total(inputs[1])
                one, base = fastest([(f, inputs), (total, inputs[1:])], seconds)
                size = 4 * k * n / 1e9
                figures = f"{size / one:8.1f}{size / base:7.1f}{base / one:7.0%}"
                report.line(f"{case.name}, {threads} thread", figures, base / one >= VECTOR, f"{VECTOR:.0%}")


def neighbours(torch: Any, report: Report, seconds: float) -> None:
    """Sizes off the tile, a symbolic M, and a fused epilogue, each against the plain product beside it."""
    torch.set_num_threads(1)
    print(f"\n{'against its neighbour':<34}{'GFLOP/s':>8}{'other':>7}{'ratio':>7}")

    def compare(name: str, case: Case, f: Callable, other: Case, least: float) -> None:
        g, inputs = compiled(torch, other)
        one, base = fastest([(f, case.inputs), (g, inputs)], seconds)
        ratio = (case.flops / one) / (other.flops / base)
        figures = f"{case.flops / one / 1e9:8.0f}{other.flops / base / 1e9:7.0f}{ratio:7.0%}"
        report.line(name, figures, ratio >= least, f"{least:.0%}")

    for layout in LAYOUTS:
        torch.compiler.reset()
        even, odd = product_case(torch, layout, 128, 768, 3072), product_case(torch, layout, 127, 765, 3071)
        compare(odd.name, odd, compiled(torch, odd)[0], even, NEIGHBOUR)
    for m, k, n in SIZES:
        torch.compiler.reset()
        plain = product_case(torch, "x @ w", m, k, n)
        f = torch.compile(plain.function)
        for rows in (m - 1, m - 2, m):  # M is symbolic from the second size on
            f(plain.inputs[0][:rows], plain.inputs[1])
        compare(f"x @ w, any M  {m}x{k}x{n}", plain, f, plain, NEIGHBOUR)
    for m, k, n in SIZES:
        torch.compiler.reset()
        fused = fused_case(torch, m, k, n)
        plain = product_case(torch, "linear(x, w)", m, k, n)
        compare(fused.name, fused, compiled(torch, fused)[0], plain, FUSED)


PEER = """
import json, sys, torch
from benchmarks.matmul import *
torch.set_num_threads(1)
rows = {}
with torch.no_grad():
    for case in [product_case(torch, l, *s) for l in LAYOUTS for s in SIZES] + [fused_case(torch, *s) for s in SIZES]:
        torch.compiler.reset()
        rows[case.name] = case.flops / fastest([compiled(torch, case)], float(sys.argv[1]))[0] / 1e9
print(json.dumps(rows))
"""


def peer_rates(python: str, seconds: float) -> dict[str, float]:
    """GFLOP/s of torch.compile on one thread, by case."""
    return ask_peer(python, PEER, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.4, help="how long each case is measured (default 0.4)")
    parser.add_argument("--peer-python", help="an interpreter that has torch")
    options = parser.parse_args()
    import weft

    report = Report(peer_rates(options.peer_python, options.seconds) if options.peer_python else {})
    with weft.no_grad():
        for part in (products, vectors, neighbours):
            part(weft, report, options.seconds)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
