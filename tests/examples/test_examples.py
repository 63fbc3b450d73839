"""The training scripts of examples/: they learn, eager and compiled alike, and go on from a checkpoint as if never stopped."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def losses(example, folder, *flags):
    report = folder / "report.json"
    command = [sys.executable, "-m", f"examples.{example}", "--weights", str(folder / "weights.pt"), "--report", str(report)]
    done = subprocess.run([*command, *flags], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text())["losses"]


@pytest.mark.parametrize("example", ["vision", "text", "tabular"])
def test_an_example_learns_and_goes_on_where_it_was_stopped(example, tmp_path):
    straight = losses(example, tmp_path, "--epochs", "2")
    assert straight[-1] < 0.95 * straight[0]
    saved = ["--epochs", "2", "--checkpoint", str(tmp_path / "checkpoint.pt")]
    half = losses(example, tmp_path, *saved, "--stop", "1")
    assert half == straight[: len(half)] and len(half) == len(straight) // 2
    assert losses(example, tmp_path, *saved) == straight
    compiled = losses(example, tmp_path, "--epochs", "2", "--stop", "1", "--compile")
    assert compiled == pytest.approx(half, rel=1e-3)
