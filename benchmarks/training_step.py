"""A training step (forward, backward, AdamW) in three ways: eager; loss and optimizer compiled; the whole step as one function.

python -m benchmarks.training_step [--peer-python PATH]   the peer interpreter's torch does the same, but for the whole step

Times are medians of interleaved rounds, on one thread: microseconds a step, and seconds to the third step (compiling included).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from types import ModuleType
from typing import Any

from benchmarks.gpt_model import Config, build


def mlp(torch: ModuleType, width: int) -> tuple[Any, Any, Any]:
    """(model, inputs, targets): three layers with a norm between."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )
    return model, torch.randn(64, width), torch.randint(0, 10, (64,))


def image(torch: ModuleType) -> tuple[Any, Any, Any]:
    """A small network of convolutions."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    return model, torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))


def gpt(torch: ModuleType) -> tuple[Any, Any, Any]:
    """The GPT of benchmarks.gpt with two layers."""
    config = Config(layers=2)
    tokens = torch.randint(0, config.vocabulary, (config.batch, config.context + 1))
    return build(torch, config), tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


MODELS = {"mlp of width 32": lambda t: mlp(t, 32), "mlp of width 512": lambda t: mlp(t, 512), "convolutions": image, "GPT": gpt}


def stepper(torch: ModuleType, name: str, way: str) -> Any:
    """A function that trains one step."""
    torch.manual_seed(0)
    model, x, y = MODELS[name](torch)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

    def loss_of(x: Any, y: Any) -> Any:
        logits = model(x)
        return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))

    update = optimizer.step
    if way == "parts":
        loss_of, update = torch.compile(loss_of), torch.compile(update)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        update()
        return loss.detach()

    if way == "whole":
        step = torch.compile(step, fullgraph=True)
    return lambda: step(x, y)


def measure(torch: ModuleType, ways: list[str], seconds: float) -> dict[str, dict[str, list[float]]]:
    """{model: {way: [microseconds a step, seconds to the third step]}}"""
    torch.set_num_threads(1)
    found: dict[str, dict[str, list[float]]] = {}
    for name in MODELS:
        steps, first = {way: stepper(torch, name, way) for way in ways}, {}
        for way, step in steps.items():
            start = time.perf_counter()
            for _ in range(3):
                step()
            first[way] = time.perf_counter() - start
        times: dict[str, list[float]] = {way: [] for way in ways}
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for way, step in steps.items():
                start = time.perf_counter()
                step()
                times[way].append(1e6 * (time.perf_counter() - start))
        found[name] = {way: [statistics.median(times[way]), first[way]] for way in ways}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", help="an interpreter with PyTorch")
    parser.add_argument("--seconds", type=float, default=5, help="of measuring each model")
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.as_peer:
        print(json.dumps(measure(importlib.import_module("torch"), ["eager", "parts"], args.seconds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WEFT_CACHE_DIR"] = folder  # (compile times are those of a first run)
        columns = {f"weft, {k}": k for k in ("eager", "parts", "whole")}
        rows = measure(importlib.import_module("weft"), list(columns.values()), args.seconds)
    peer: dict[str, Any] = {}
    if args.peer_python:
        command = [args.peer_python, "-m", "benchmarks.training_step", "--as-peer", "--seconds", str(args.seconds)]
        peer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    names = [*columns, *(f"PyTorch, {k}" for k in ("eager", "parts") if peer)]
    print("| microseconds a step (seconds to the third) | " + " | ".join(names) + " |")
    print("| --- |" + " ---: |" * len(names))
    for model, ways in rows.items():
        cells = [*ways.values(), *peer.get(model, {}).values()]
        print(f"| {model} | " + " | ".join(f"{us:,.0f} ({s:.1f} s)" for us, s in cells) + " |")


if __name__ == "__main__":
    sys.exit(main())
