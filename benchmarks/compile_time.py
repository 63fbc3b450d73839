"""How long from starting Python to the first result, with an empty cache and with a full one.

python -m benchmarks.compile_time [--rounds N] [--peer-python PATH]

Every figure is the wall time of a whole fresh process minus that of one that only imports NumPy: medians, the jobs
taken in turns. The peer interpreter runs the same jobs with jax.jit and torch.compile, their caches empty.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

BLOCK = """
from benchmarks.gpt_model import Config, build
import numpy as np
config = Config(layers=1)
block = build(torch, config).blocks[0]
f = torch.compile(lambda x: block(x).square().mean())
x = torch.from_numpy(np.random.default_rng(0).normal(size=(config.batch, config.context, config.width)).astype("f4"))
x.requires_grad_()
f(x).backward()
assert x.grad is not None and all(p.grad is not None for p in block.parameters())
"""
ADD = """
f = torch.compile(lambda x: x + 1)
y = f(torch.ones(16))
assert float(y.sum()) == 32
"""
JAX_ADD = """
import jax, jax.numpy as jnp
f = jax.jit(lambda x: x + 1)
assert float(f(jnp.ones(16)).sum()) == 32
"""
JAX_BLOCK = """
import jax, jax.numpy as jnp, numpy as np
C, H = 128, 4
r = np.random.default_rng(0)
def w(*s): return jnp.asarray(r.normal(size=s) * 0.02, "float32")
p = dict(n1=(w(C), w(C)), qkv=(w(C, 3 * C), w(3 * C)), out=(w(C, C), w(C)), n2=(w(C), w(C)),
         up=(w(C, 4 * C), w(4 * C)), down=(w(4 * C, C), w(C)))
def norm(x, p):
    m = x.mean(-1, keepdims=True); v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(v + 1e-5) * p[0] + p[1]
def linear(x, p): return x @ p[0] + p[1]
def block(p, x):
    B, T, _ = x.shape
    heads = jnp.split(linear(norm(x, p["n1"]), p["qkv"]), 3, -1)
    q, k, v = (t.reshape(B, T, H, C // H).transpose(0, 2, 1, 3) for t in heads)
    a = q @ k.transpose(0, 1, 3, 2) / np.sqrt(C // H)
    a = jax.nn.softmax(jnp.where(np.tril(np.ones((T, T), bool)), a, -jnp.inf), -1)
    x = x + linear((a @ v).transpose(0, 2, 1, 3).reshape(B, T, C), p["out"])
    return x + linear(jax.nn.gelu(linear(norm(x, p["n2"]), p["up"])), p["down"])
f = jax.jit(jax.grad(lambda p, x: (block(p, x) ** 2).mean(), argnums=(0, 1)))
jax.block_until_ready(f(p, jnp.asarray(r.normal(size=(16, 64, C)), "float32")))
"""
COUNTERS = """
import json, sys
import inductor
print("counters", json.dumps(dict(inductor.counters)), file=sys.stderr)
"""


@dataclass
class Job:
    """A process to time: `cache` is "none", "empty" (a new one each time) or "full" (kept, and filled beforehand)."""

    name: str
    code: str
    cache: str = "none"
    python: str = sys.executable
    limit: float | None = None
    rounds: int = 0


def jobs(peer: str | None) -> list[Job]:
    weft = "import weft as torch\n"
    found = [
        Job("import numpy", "import numpy"),
        Job("import weft", "import weft", limit=0.080),
        Job("weft: x + 1, empty cache", weft + ADD + COUNTERS, "empty", limit=0.35),
        Job("weft: x + 1, full cache", weft + ADD + COUNTERS, "full", limit=0.13),
        Job("weft: GPT block, forward and backward, empty cache", weft + BLOCK + COUNTERS, "empty", limit=2.5),
        Job("weft: GPT block, forward and backward, full cache", weft + BLOCK + COUNTERS, "full", limit=0.35),
    ]
    if peer:
        imports = {
            "import numpy (peer)": "import numpy",
            "import jax": "import jax, jax.numpy",
            "import torch": "import torch",
        }
        found += [Job(name, code, python=peer) for name, code in imports.items()]
        found += [
            Job("jax.jit: x + 1", JAX_ADD, python=peer),
            Job("jax.jit: GPT block, forward and backward", JAX_BLOCK, python=peer),
            Job("torch.compile: x + 1", "import torch\n" + ADD, "empty", python=peer, rounds=2),
            Job(
                "torch.compile: GPT block, forward and backward",
                "import torch\n" + BLOCK,
                "empty",
                python=peer,
                rounds=1,
            ),
        ]
    return found


def run(job: Job, caches: dict[str, str]) -> tuple[float, dict]:
    """(seconds, counters) of one fresh process. Raises RuntimeError with its output if it fails."""
    cache = caches.get(job.name) or tempfile.mkdtemp(prefix="weft-bench-")
    environment = {**os.environ, "WEFT_CACHE_DIR": cache + "/weft", "TORCHINDUCTOR_CACHE_DIR": cache + "/torch"}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in (os.getcwd(), os.environ.get("PYTHONPATH")) if p)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start would parse weft's sources
    started = time.perf_counter()
    done = subprocess.run([job.python, "-c", job.code], env=environment, capture_output=True, text=True)
    elapsed = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{job.name} failed:\n{done.stderr}")
    if job.name not in caches:
        shutil.rmtree(cache)
    lines = [line for line in done.stderr.splitlines() if line.startswith("counters ")]
    return elapsed, json.loads(lines[-1].removeprefix("counters ")) if lines else {}


def measure(rounds: int, peer: str | None) -> list[tuple[Job, float, dict]]:
    """(job, median seconds, counters of the last run), after one run of each to warm files and fill caches."""
    todo = jobs(peer)
    caches = {job.name: tempfile.mkdtemp(prefix="weft-bench-") for job in todo if job.cache == "full"}
    times: dict[str, list[float]] = {job.name: [] for job in todo}
    counters: dict[str, dict] = {}
    try:
        for round in range(rounds + 1):
            for job in todo:
                if job.rounds and round > job.rounds or job.rounds and round == 0:
                    continue
                seconds, counters[job.name] = run(job, caches)
                if round:
                    times[job.name].append(seconds)
                _progress(f"round {round}/{rounds}: {job.name}: {seconds:.2f} s")
    finally:
        for cache in caches.values():
            shutil.rmtree(cache)
    return [(job, statistics.median(times[job.name]), counters[job.name]) for job in todo]


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()


def report(measured: list[tuple[Job, float, dict]]) -> bool:
    """Print the table; whether every limit was kept and every warm start ran neither lowering nor compiler."""
    own = {job.python: seconds for job, seconds, _ in measured if job.name.startswith("import numpy")}
    good = True
    _progress("")
    for job, seconds, counters in measured:
        net = seconds - own[job.python]
        line = f"{job.name:<56}{net:8.3f} s"
        if job.limit is not None:
            line += f"   limit {job.limit:.2f} s  {'ok' if net <= job.limit else 'MISSED'}"
            good &= net <= job.limit
        if counters:
            cold = {k: counters.get(k, 0) for k in ("lowerings", "compiles", "cache_hits")}
            line += "   " + ", ".join(f"{v} {k.replace('_', ' ')}" for k, v in cold.items())
            if job.cache == "full":
                good &= cold["lowerings"] == cold["compiles"] == 0 and cold["cache_hits"] > 0
        print(line)
    print(f"import numpy itself: {own[sys.executable]:.3f} s; every figure is what a process takes beyond that")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="timed runs of each job (default 7)")
    parser.add_argument("--peer-python", help="an interpreter that has jax and torch")
    options = parser.parse_args()
    return 0 if report(measure(options.rounds, options.peer_python)) else 1


if __name__ == "__main__":
    sys.exit(main())
