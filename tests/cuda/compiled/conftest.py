"""Compiled functions on a device: on the simulated one images are tokens (tests/cuda/compiled/tokens.py)."""

import contextlib

import pytest


@pytest.fixture
def device(cuda, request):
    """The device "cuda:0", for which inductor compiles."""
    from inductor.cuda import eager
    from tests.conftest import gpu_is_asked_for
    from tests.cuda.compiled import tokens
    from tests.cuda.sim import simulator

    eager._on_host.clear()  # what a test before could not compile
    with contextlib.nullcontext() if gpu_is_asked_for(request.config) else tokens.serving(simulator()):
        yield cuda
