"""Runs an example several ways from the same weights, under weft and under another interpreter's PyTorch, and compares."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

WAYS = {"eager": [], "compiled": ["--compile"], "amp": ["--amp"]}


def parser(description: str, epochs: int) -> argparse.ArgumentParser:
    """The options that all examples have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--epochs", type=int, default=epochs)
    options.add_argument("--compile", action="store_true", help="torch.compile the model")
    options.add_argument("--amp", action="store_true", help="autocast to bfloat16")
    options.add_argument("--workers", type=int, default=0, help="processes of the DataLoader")
    options.add_argument("--weights", help="file of initial weights: written if it is not there")
    options.add_argument("--checkpoint", help="file of the state after each epoch; if it is there, training goes on from it")
    options.add_argument("--stop", type=int, help="stop after so many epochs, as if interrupted")
    options.add_argument("--report", help="file for losses and seconds, as JSON")
    options.add_argument("--peer-python", help="an interpreter that has PyTorch, to run beside")
    return options


def main(module: str, options: argparse.Namespace, train: Callable[[argparse.Namespace], dict[str, Any]]) -> None:
    """Trains once, or with --peer-python in every way of WAYS by both interpreters."""
    if options.peer_python:
        compare(module, options)
        return
    report = train(options)
    if options.report:
        with open(options.report, "w") as file:
            json.dump(report, file)


def compare(module: str, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        weights, report = os.path.join(folder, "weights.pt"), os.path.join(folder, "report.json")
        results = {}
        for way, flags in WAYS.items():
            for name, python in (("weft", sys.executable), ("torch", options.peer_python)):
                peer = {"EXAMPLES_PEER": "1"} if name == "torch" else {}
                command = [python, "-m", module, *flags, "--epochs", str(options.epochs), "--workers", str(options.workers),
                           "--weights", weights, "--report", report]  # fmt: skip
                subprocess.run(command, env={**os.environ, **peer}, check=True, stdout=subprocess.DEVNULL)
                with open(report) as file:
                    results[name, way] = json.load(file)
    expected = results["torch", "eager"]["losses"]
    print(f"{module}: {len(expected)} steps, first loss {expected[0]:.5f}, last {expected[-1]:.5f} (torch eager)")
    for (name, way), result in results.items():
        difference = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(result["losses"], expected, strict=True))
        print(
            f"  {name:6s}{way:9s} loss differs by at most {difference:8.1e}   step {1000 * result['step']:7.2f} ms   "
            f"score {result['score']:.4f}"
        )


# ---------------------------------------------------------------------------------------- for the scripts
def share_weights(torch: Any, model: Any, path: str | None) -> None:
    """Starts from the weights in the file, or writes those that there are to it."""
    if path is None:
        return
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    else:
        torch.save(model.state_dict(), path)


def checkpoint(torch: Any, path: str | None, parts: dict[str, Any], losses: list[float], epoch: int) -> None:
    """Saves the state of all parts, and how far training is."""
    if path is not None:
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save({**state, "losses": losses, "epoch": epoch}, path)


def resume(torch: Any, path: str | None, parts: dict[str, Any]) -> tuple[list[float], int]:
    """(losses so far, the epoch to go on with), with the state of all parts as it was saved; ([], 0) without a file."""
    if path is None or not os.path.exists(path):
        return [], 0
    saved = torch.load(path, weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(saved[name])
    return saved["losses"], saved["epoch"]


def report(losses: list[float], seconds: list[float], score: float) -> dict[str, Any]:
    """Losses, the median seconds of a step once it is warm, and the score of the test."""
    warm = seconds[len(seconds) // 2 :]
    return {"losses": losses, "step": statistics.median(warm) if warm else 0.0, "score": score}
