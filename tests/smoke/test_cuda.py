"""A kernel is compiled and run on the simulated device, forward and backward, beside the eager ops there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import tests.cuda.on_simulator
import weft

def f(x, w):
    return (x @ w).relu().sum(-1)

def run(f, device):
    x, w = weft.linspace(-1, 2, 12).reshape(3, 4).to(device), weft.linspace(-2, 1, 8).reshape(4, 2).to(device).requires_grad_()
    y = f(x, w)
    return [y.tolist(), weft.autograd.grad(y.sum(), w)[0].tolist()]

want = run(f, "cpu")
weft.testing.assert_close([weft.tensor(r) for r in run(f, "cuda")], [weft.tensor(r) for r in want])
weft.testing.assert_close([weft.tensor(r) for r in run(weft.compile(f), "cuda")], [weft.tensor(r) for r in want])
"""


def test_on_the_simulated_device(tmp_path):
    pytest.importorskip("triton", reason="kernels of the simulated device are run by Triton's interpreter")
    environment = {**os.environ, "WEFT_CACHE_DIR": str(tmp_path), "WEFT_STRICT": "1"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
