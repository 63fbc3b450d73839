"""weft on a GPU: whether it computes what the CPU computes, and how fast, beside torch on the same GPU.

    python -m benchmarks.gpu                        every case: eager, compiled, with mode="reduce-overhead"
    python -m benchmarks.gpu --peer-python PATH     the same by the torch of another interpreter
    python -m benchmarks.gpu --only softmax,sort    cases by parts of their names
    python -m benchmarks.gpu --write                keeps the table in benchmarks/results/gpu.md
    python -m benchmarks.gpu --simulated            small sizes on the simulated device: results alone, nothing is timed

A time is the shortest of five runs of as many calls as take 50 ms, between two events of the device. `pytest -m gpu` are the
tests of tests/cuda on the same device. Ends with 1 where a result differs or there is no device.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.gpt_model import Config, Text
from benchmarks.gpu_cases import Case, cases

RESULTS = Path(__file__).parent / "results" / "gpu.md"
MODES = {"eager": None, "compiled": "default", "reduce-overhead": "reduce-overhead"}
ROUNDS, WARM, SPAN = 5, 3, 50.0  # ms
GPT, SMALL_GPT = Config(4, 768, 12, 512, 8), Config(1, 16, 2, 8, 2)


def by_way(torch: ModuleType, f: Callable[..., Any], way: str) -> Callable[..., Any]:
    """The function as a way of running it."""
    mode = MODES[way]
    return f if mode is None else torch.compile(f, mode=None if mode == "default" else mode)


def milliseconds(torch: ModuleType, call: Callable[[], Any]) -> float:
    """Of one call, on the device."""
    for _ in range(WARM):
        call()
    n, best = 1, float("inf")
    while (span := timed(torch, call, n)) < SPAN and n < 1 << 14:
        n *= 2 if span > SPAN / 8 else 8
    for _ in range(ROUNDS):
        best = min(best, timed(torch, call, n) / n)
    return best


def timed(torch: ModuleType, call: Callable[[], Any], n: int) -> float:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    for _ in range(n):
        call()
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop)


def array(x: Any) -> np.ndarray:
    return x.detach().cpu().float().numpy()


def difference(got: Any, want: np.ndarray) -> float:
    """The largest, as a share of the largest element; infinite where sizes or places of NaN differ."""
    found = array(got)
    if found.shape != want.shape or not np.array_equal(np.isnan(found), np.isnan(want)):
        return float("inf")
    scale = max(float(np.nanmax(np.abs(want), initial=0.0)), 1e-30)
    return float(np.nanmax(np.abs(found - want), initial=0.0)) / scale


def figures(torch: ModuleType, case: Case, timing: bool, check: bool) -> dict[str, Any]:
    """{way: milliseconds, or None where nothing is timed; "difference": from the CPU}."""
    given = case.tensors(torch, "cuda")
    want = array(case.function(*case.tensors(torch, "cpu"))) if check else None
    found: dict[str, Any] = {"difference": 0.0}
    with torch.no_grad():
        for way in case.ways:
            run = by_way(torch, case.function, way)
            for _ in range(1 if want is None else 2):  # a graph of the driver's is replayed in the second
                made = run(*given)
                if want is not None:
                    found["difference"] = max(found["difference"], difference(made, want))
            found[way] = milliseconds(torch, lambda: run(*given)) if timing else None  # noqa: B023
    torch.compiler.reset()
    return found


def training(torch: ModuleType, config: Config, timing: bool, steps: int = 3) -> dict[str, Any]:
    """A step of training of a GPT; its losses beside those of the CPU, where that takes no time."""
    from benchmarks.gpt import Trainer

    batches = Text().batches(config, steps)
    found: dict[str, Any] = {"difference": 0.0}
    want = None
    if config is SMALL_GPT:
        reference = Trainer(torch, config, False)
        want = [reference.step(b) for b in batches]
    for way, mode in MODES.items():
        trainer = Trainer(torch, config, mode is not None, "cuda", None if mode in (None, "default") else mode)
        losses = [trainer.step(b) for b in batches]
        want = want or losses
        found["difference"] = max(found["difference"], *(abs(a - b) / abs(b) for a, b in zip(losses, want)))
        given = trainer.tensors(batches[0])
        found[way] = milliseconds(torch, lambda: trainer.advance(*given)) if timing else None  # noqa: B023
        torch.compiler.reset()
    return found


def measured(torch: ModuleType, parts: list[str], small: bool, check: bool, show: Callable[[str, dict], None]) -> dict[str, Any]:
    """The figures of all cases by name."""
    made: dict[str, Any] = {}
    for case in cases(torch, small):
        if not parts or any(p in case.name for p in parts):
            made[case.name] = {**figures(torch, case, not small, check), "tolerance": case.tolerance}
            made[case.name].update(moved=case.moved, flops=case.flops)
            show(case.name, made[case.name])
    if not parts or any(p in "gpt training step" for p in parts):
        made["gpt training step"] = {**training(torch, SMALL_GPT if small else GPT, not small), "tolerance": 2e-3}
        show("gpt training step", made["gpt training step"])
    return made


def as_peer(parts: list[str]) -> None:
    """Prints the figures of this interpreter's torch as JSON, or why there are none."""
    import torch

    if not torch.cuda.is_available():
        print(json.dumps({"missing": "its torch sees no GPU"}))
        return
    made = measured(torch, parts, False, False, lambda name, found: None)
    print(json.dumps({"name": f"torch {torch.__version__}", "cases": made}))


def peer(python: str, parts: list[str]) -> dict[str, Any]:
    """What another interpreter measures."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
    command = [python, "-m", "benchmarks.gpu", "--as-peer", "--only", ",".join(parts)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode or not done.stdout.strip():
        return {"missing": (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def rate(found: dict[str, Any], ms: float) -> str:
    """How much a call does in its time."""
    if found.get("flops"):
        return f"{found['flops'] / ms / 1e9:.1f} TFLOP/s"
    return f"{found['moved'] / ms / 1e6:.0f} GB/s" if found.get("moved") else ""


def row(name: str, found: dict[str, Any], theirs: dict[str, Any]) -> str:
    """A case as a line of the table."""
    times = [found[way] for way in MODES]
    cells = ["-" if t is None else f"{t * 1e3:.1f}" for t in times]
    best = min((t for t in times if t is not None), default=None)
    others = [theirs.get(way) for way in MODES]
    cells += ["-" if t is None else f"{t * 1e3:.1f}" for t in others]
    ratio = "-" if best is None or not any(others) else f"{min(t for t in others if t) / best:.2f}"
    what = "-" if best is None else rate(found, best)
    right = f"{found['difference']:.1e}" + ("" if found["difference"] <= found["tolerance"] else " WRONG")
    return "| " + " | ".join([name, right, *cells, what, ratio]) + " |"


HEAD = [
    "| case | differs from the CPU | eager us | compiled us | reduce-overhead us | torch eager us | torch compiled us | "
    "torch reduce-overhead us | best of weft | torch's best / weft's best |",
    "|---|---|---|---|---|---|---|---|---|---|",
]


def report(parts: list[str], peer_python: str | None, simulated: bool, write: bool) -> int:
    """Prints the table; how many results were wrong."""
    import weft

    name = weft.cuda.get_device_name()
    theirs: dict[str, Any] = peer(peer_python, parts) if peer_python and not simulated else {"missing": ""}
    if theirs.get("missing"):
        print(f"no figures of the peer {peer_python}: {theirs['missing']}")
    known = theirs.get("cases", {})
    title = f"weft on {name}" + (f", beside {theirs['name']}" if known else "") + (": nothing is timed" if simulated else "")
    lines = [title, "", *HEAD]
    print("\n".join(lines), flush=True)

    def show(name: str, found: dict[str, Any]) -> None:
        lines.append(row(name, found, known.get(name, {})))
        print(lines[-1], flush=True)

    made = measured(weft, parts, simulated, True, show)
    wrong = [name for name, found in made.items() if found["difference"] > found["tolerance"]]
    print(f"{len(made)} cases, {len(wrong)} of them wrong{': ' if wrong else ''}{', '.join(wrong)}")
    if write:
        RESULTS.write_text("\n".join(["# weft on a GPU", "", __doc__ or "", *lines, ""]))
    return len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="comma-separated parts of names of cases")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with torch and the same GPU")
    parser.add_argument("--simulated", action="store_true", help="small sizes on the simulated device (tests/cuda/sim)")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    parts = [p for p in options.only.split(",") if p]
    if options.as_peer:
        as_peer(parts)
        return 0
    with tempfile.TemporaryDirectory(prefix="weft-gpu-cache-") as cache:
        os.environ.setdefault("WEFT_CACHE_DIR", cache)  # read when weft is imported
        if options.simulated:
            import tests.cuda.on_simulator  # noqa: F401  (there are no devices before)
        import weft
        from weft.cuda import devices

        if not weft.cuda.is_available():
            print(f"there is no GPU here: {devices.why_not()} (--simulated: results on the simulated device)", file=sys.stderr)
            return 1
        return 1 if report(parts, options.peer_python, options.simulated, options.write) else 0


if __name__ == "__main__":
    sys.exit(main())
