"""Two simulated devices in the process for the tests of this folder; all other tests see none."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def sim():
    """The simulated driver, its devices shown while the test runs. CUDASIM_SCHEDULE chooses how late things run (default: lazy)."""
    pytest.importorskip("triton", reason="kernels of the simulated device are run by Triton's interpreter")
    from tests.cuda.sim import simulator

    sim = simulator()
    from aten import _cuda

    _cuda.initialize()
    sim.recover(os.environ.get("CUDASIM_SCHEDULE", "lazy"))
    _cuda.show_devices(2)
    yield sim
    sim.recover()
    _cuda.set_device(0)
    _cuda.set_stream(_cuda.default_stream(0)[0])
    _cuda.set_stream(_cuda.default_stream(1)[0])
    _cuda.show_devices(0)


@pytest.fixture
def cuda(sim):
    """The device "cuda:0"; a fault that the test did not expect fails it."""
    import weft

    yield weft.device("cuda:0")
    sim.lib.cudasim_finish()
    assert sim.fault() is None


@pytest.fixture
def lazy(sim):
    """The lazy schedule, whatever CUDASIM_SCHEDULE says, for tests of what has not run yet: the others may run it at once."""
    sim.recover("lazy")
