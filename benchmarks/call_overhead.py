"""What a call costs beyond the work: compiled functions and modules, and eager ops, on 16 floats.

python -m benchmarks.call_overhead [--peer-python PATH]   an interpreter that has torch and jax, measured beside

Every figure is a minimum over short windows, in nanoseconds a call, the jobs taken in turns in one run.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

SUBMODULES, PARAMETERS = 25, 4  # 100 parameters
OPS = {
    "add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y", "neg": "-x", "exp": "x.exp()", "tanh": "x.tanh()",
    "sigmoid": "x.sigmoid()", "relu": "x.relu()", "sqrt": "y.sqrt()", "maximum": "torch.maximum(x, y)", "lt": "x < y",
    "where": "torch.where(b, x, y)", "sum": "x.sum()", "amax": "x.amax(-1)", "mean": "x.mean()", "view": "x.view(4, 4)",
    "transpose": "m.t()", "matmul": "m @ m", "softmax": "x.softmax(-1)",
}  # fmt: skip


class Job:
    """A function of one or two arguments, called `calls` times in a window."""

    def __init__(self, name: str, call: Callable[..., Any], args: tuple, calls: int = 400):
        self.name, self.call, self.args, self.calls = name, call, args, calls
        self.best = float("inf")

    def window(self) -> None:
        repeat = itertools.repeat(None, self.calls)
        if len(self.args) == 2:
            call, (a, b) = self.call, self.args
            start = time.perf_counter_ns()
            for _ in repeat:
                call(a, b)
        else:
            call, (a,) = self.call, self.args
            start = time.perf_counter_ns()
            for _ in repeat:
                call(a)
        self.best = min(self.best, (time.perf_counter_ns() - start) / self.calls)


def measure(jobs: list[Job], seconds: float) -> dict[str, float]:
    for job in jobs:
        job.window()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for job in jobs:
            job.window()
    return {job.name: job.best for job in jobs}


def pointwise(x, y):
    return x + y * 2


def plain(x, y):
    return x


def network(torch: ModuleType) -> Any:
    """A module of 100 parameters of 16 floats in 25 submodules."""
    nn = torch.nn

    class Leaf(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for i in range(PARAMETERS):
                setattr(self, f"w{i}", nn.Parameter(torch.ones(16) * (i + 1) / 8))

        def forward(self, x):
            return x * self.w0 + self.w1 * self.w2 - self.w3

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Leaf() for _ in range(SUBMODULES)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    return Net()


def eager_jobs(torch: ModuleType) -> list[Job]:
    x = torch.from_numpy(np.linspace(-1, 1, 16, dtype="f4"))
    values = {"torch": torch, "x": x, "y": x.abs() + 1, "b": x > 0, "m": x.view(4, 4)}
    jobs = []
    for name, text in OPS.items():
        call = eval(f"lambda x, y: {text}", values)
        jobs.append(Job(f"eager {name}", call, (x, values["y"])))
    return jobs


def torch_jobs(torch: ModuleType, calls: int) -> list[Job]:
    """The jobs that weft and PyTorch share; gradients are on where the name says so."""
    x, y = torch.ones(16), torch.ones(16)
    jobs = [Job("plain call", plain, (x, y)), Job("compiled function", torch.compile(pointwise), (x, y), calls)]
    net = torch.compile(network(torch))

    jobs.append(Job("module with grad", net, (x,), calls // 4))
    jobs.append(Job("module without grad", no_grad_loop(torch, net), (x,), max(calls // 100, 4)))
    return [*jobs, *eager_jobs(torch)]


def no_grad_loop(torch: ModuleType, net: Any) -> Callable[[Any], None]:
    """25 calls under one no_grad."""

    def run(x):
        with torch.no_grad():
            for _ in itertools.repeat(None, 25):
                net(x)

    return run


def program_jobs(torch: ModuleType) -> list[Job]:
    """The Programs of the compiled module alone, called by a loop in C."""
    from dynamo import _eval_frame
    from dynamo.source import Scope

    net = network(torch)
    x = torch.ones(16)
    compiled = torch.compile(net)
    jobs = []
    for name, grad in (("program with grad", True), ("program without grad", False)):
        torch.compiler.reset()
        with torch.set_grad_enabled(grad):
            compiled(x)
        function = compiled._fast.__func__
        entry = _eval_frame.entries(function.__wrapped__.__code__)[0]
        scope = Scope.of_function(function.__wrapped__, {"self": net, "x": x})
        inputs = tuple(source.get(scope) for source in entry.info.inputs)
        jobs.append(Job(name, program_loop(torch, entry.graph, inputs, grad), (x,), 4))
    return jobs


def program_loop(torch: ModuleType, program: Any, inputs: tuple, grad: bool) -> Callable[[Any], None]:
    """25 calls of a Program by a loop in C."""

    def run(x):
        with torch.set_grad_enabled(grad):
            collections.deque(itertools.starmap(program, itertools.repeat(inputs, 25)), maxlen=0)

    return run


def run_weft(seconds: float) -> dict[str, float]:
    import weft

    found = measure(torch_jobs(weft, 400) + program_jobs(weft), seconds)
    for name in ("module without grad", "program with grad", "program without grad"):
        found[name] /= 25
    return found


def run_peer(seconds: float) -> dict[str, float]:
    """In the peer interpreter: torch.compile, torch's eager ops, jax.jit."""
    import torch

    torch.set_num_threads(1)
    found = measure(torch_jobs(torch, 100), seconds)
    found["module without grad"] /= 25
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return found
    a, b = jnp.ones(16), jnp.ones(16)
    found |= measure([Job("jax.jit function", jax.jit(pointwise), (a, b), 100)], seconds / 4)
    return found


def python_entries() -> dict[str, int]:
    """Which ops a forward pass of the eager GPT ran in Python, and how often."""
    import weft
    from aten import _native
    from benchmarks.gpt_model import Config, build

    config = Config()
    model = build(weft, config)
    tokens = weft.from_numpy(np.zeros((config.batch, config.context), dtype=np.int64))
    model(tokens)
    _native.python_entries(True)
    model(tokens)
    return {name: n for name, n in _native.python_entries().items() if n}


def report(found: dict[str, float], peer: dict[str, float]) -> bool:
    """Print all figures; whether the promised ones hold."""
    ops = [found[f"eager {name}"] for name in OPS]
    without_grad = found["module without grad"] - found["program without grad"]
    with_grad = found["module with grad"] - found["program with grad"]
    rows = [
        ("compiled x + y * 2 over a plain call", found["compiled function"] - found["plain call"], 150),
        ("module of 100 parameters over its Program, no_grad", without_grad, 1000),
        ("module of 100 parameters over its Program, grad", with_grad, 3000),
        ("eager a + b", found["eager add"], 250),
        (f"eager, median of {len(ops)} ops", statistics.median(ops), None),
    ]  # fmt: skip
    good = True
    print(f"{'ns':>8}  {'at most':>8}")
    for name, value, limit in rows:
        good &= limit is None or value <= limit
        print(f"{value:8.0f}  {limit or '':>8}  {name}{'' if limit is None or value <= limit else '   TOO SLOW'}")
    print("\nns a call" + ("          weft      torch     ratio" if peer else ""))
    for name in sorted(found, key=lambda n: (n.startswith("eager"), n)):
        other = peer.get(name)
        beside = f"{other:10.0f} {other / found[name]:8.1f}x" if other else ""
        print(f"{found[name]:10.0f}{beside}  {name}")
    if "jax.jit function" in peer:
        ratio = peer["jax.jit function"] / found["compiled function"]
        print(f"{peer['jax.jit function']:10.0f} jax.jit of the same function: {ratio:.1f}x the compiled function's")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=6, help="measuring time of each interpreter")
    parser.add_argument("--peer-python", help="an interpreter that has torch and jax")
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_peer:
        print(json.dumps(run_peer(options.seconds)))
        return 0
    peer = {}
    if options.peer_python:
        seconds = str(options.seconds)
        command = [options.peer_python, "-m", "benchmarks.call_overhead", "--as-peer", "--seconds", seconds]
        out = subprocess.run(command, env=dict(os.environ), check=True, capture_output=True, text=True)
        peer = json.loads(out.stdout.strip().splitlines()[-1])
    good = report(run_weft(options.seconds), peer)
    entered = python_entries()
    print("\nops that entered Python in the GPT's eager forward: " + (", ".join(sorted(entered)) or "none"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
