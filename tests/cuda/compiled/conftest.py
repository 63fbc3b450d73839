"""Compiled functions on the simulated device: images are tokens (tests/cuda/compiled/tokens.py)."""

import pytest


@pytest.fixture
def device(cuda, sim):
    """The simulated "cuda:0", for which inductor compiles."""
    from inductor.cuda import eager
    from tests.cuda.compiled import tokens

    eager._on_host.clear()  # what a test before could not compile
    with tokens.serving(sim):
        yield cuda
