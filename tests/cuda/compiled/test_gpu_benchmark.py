"""`benchmarks.gpu`: its cases are right on a device, and it says what is missing without one."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import weft
from benchmarks import gpu


def test_cases_are_compared_with_the_cpu(device):
    shown = []
    made = gpu.measured(weft, ["softmax float32", "sum of columns bfloat16"], True, True, lambda name, found: shown.append(name))
    assert shown == ["softmax float32", "sum of columns bfloat16"] == [*made]
    assert all(found["difference"] <= found["tolerance"] for found in made.values())


def test_a_wrong_result_is_one(device, monkeypatch):
    monkeypatch.setattr(gpu, "array", lambda x, real=gpu.array: real(x) + (0.5 if x.device.type == "cuda" else 0))
    made = gpu.measured(weft, ["softmax float32"], True, True, lambda name, found: None)
    assert "WRONG" in gpu.row("softmax", made["softmax float32"], {})


def test_differences():
    want = np.array([1.0, -4.0, np.nan], np.float32)
    assert gpu.difference(weft.tensor([1.0, -4.0, float("nan")]), want) == 0
    assert gpu.difference(weft.tensor([2.0, -4.0, float("nan")]), want) == 0.25
    assert gpu.difference(weft.tensor([1.0, -4.0, 5.0]), want) == float("inf")
    assert gpu.difference(weft.tensor([1.0, -4.0]), want) == float("inf")


def test_a_row_has_rates_and_ratios():
    found = {"difference": 0.0, "tolerance": 1e-4, "eager": 2.0, "compiled": 1.0, "reduce-overhead": None, "moved": 10**9}
    text = gpu.row("case", found, {"eager": 3.0, "compiled": 2.5, "reduce-overhead": 2.5})
    assert "1000 GB/s" in text and text.endswith("| 2.50 |") and "| 2000.0 | 1000.0 | - |" in text


def test_without_a_device_it_says_so(monkeypatch, capsys):
    monkeypatch.setenv("WEFT_CACHE_DIR", "/nowhere")  # (it would choose one)
    monkeypatch.setattr(sys, "argv", ["benchmarks.gpu"])
    monkeypatch.setattr(weft.cuda, "is_available", lambda: False)
    monkeypatch.setattr(weft.cuda.devices, "why_not", lambda: "no driver")
    assert gpu.main() == 1
    assert "there is no GPU here: no driver" in capsys.readouterr().err


def test_a_peer_without_a_gpu_or_torch_is_told():
    found = gpu.peer(sys.executable, ["softmax"])
    assert "torch" in found["missing"]


@pytest.mark.gpu
def test_times_of_a_device(device):
    made = gpu.measured(weft, ["sum of all float32"], False, True, lambda name, found: None)
    assert all(made["sum of all float32"][way] > 0 for way in gpu.MODES)
