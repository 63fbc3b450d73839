"""Two simulated devices in the process for the tests of this folder; all other tests see none.

`pytest -m gpu` runs the same tests on the machine's own GPU: those that ask for a device (`cuda`, `device`) and not for the
simulator (`sim`), which alone can be looked into, lose memory or be made to fail.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import gpu_is_asked_for


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items if gpu_is_asked_for(config) else ():
        if Path(__file__).parent in item.path.parents and "cuda" in item.fixturenames and "sim" not in item.fixturenames:
            item.add_marker("gpu")


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
def cuda(request):
    """The device "cuda:0", simulated unless `-m gpu` asks for a real one. A fault that the test did not expect fails it."""
    import weft

    if gpu_is_asked_for(request.config):
        yield from real_device()
        return
    if request.node.get_closest_marker("gpu"):
        pytest.skip("needs an NVIDIA GPU: pytest -m gpu")
    sim = request.getfixturevalue("sim")
    from inductor.cuda import eager
    from tests.cuda.compiled import tokens

    eager.on_the_host.clear()  # what a test before could not compile
    with tokens.serving(sim):
        yield weft.device("cuda:0")
    sim.lib.cudasim_finish()
    assert sim.fault() is None


def real_device():
    """The machine's GPU, in the state that a test expects."""
    import weft
    from weft.cuda import devices

    if not weft.cuda.is_available():
        pytest.skip(f"there is no GPU here: {devices.why_not()}")
    pytest.importorskip("triton", reason="Triton compiles the kernels")
    weft.cuda.set_device(0)
    weft.cuda.set_stream(weft.cuda.default_stream())
    yield weft.device("cuda:0")
    weft.cuda.synchronize()


@pytest.fixture
def second(cuda):
    """The device "cuda:1"."""
    import weft

    if weft.cuda.device_count() < 2:
        pytest.skip("needs a second GPU")
    return weft.device("cuda:1")


@pytest.fixture
def lazy(sim):
    """The lazy schedule, whatever CUDASIM_SCHEDULE says, for tests of what has not run yet: the others may run it at once."""
    sim.recover("lazy")
