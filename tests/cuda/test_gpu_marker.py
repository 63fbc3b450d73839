"""`pytest -m gpu`: the tests of this folder on the machine's own device."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import weft

pytest.importorskip("triton")


def run(*arguments: str, **environment: str) -> str:
    asked = ["-m", "pytest", "-p", "no:cacheprovider", "-rs", "-m", "gpu", "tests/cuda/test_streams.py", "-k", "thread or stream"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, *asked, *arguments], env=environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_without_a_device_they_are_skipped_and_say_why():
    said = run(WEFT_LIBCUDA="/no/driver.so")
    assert "there is no GPU here: /no/driver.so: cannot open shared object file" in said and "failed" not in said


def test_with_one_they_run(sim):
    """The simulated driver stands for the machine's: the process was started with it."""
    said = run("-p", "tests.cuda.on_simulator")
    assert " passed" in said and "SKIPPED" not in said and "failed" not in said


@pytest.mark.gpu
def test_a_marked_test_has_a_device(cuda):
    assert weft.ones(3, device=cuda).sum().item() == 3
