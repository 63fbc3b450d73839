"""Compiled functions on a device: on the simulated one images are tokens (tests/cuda/compiled/tokens.py)."""

import pytest


@pytest.fixture
def device(cuda):
    """The device "cuda:0", for which inductor compiles."""
    return cuda
