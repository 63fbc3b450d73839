"""Every test runs strict (internal errors of the compiler raise) and with a cache folder of its own. GPUs are seen by `-m gpu`
alone: all other tests would run the same on a machine without one."""

import os
import re
import tempfile

import pytest

os.environ.setdefault("WEFT_STRICT", "1")
if "WEFT_TEST_CACHE" not in os.environ:
    os.environ["WEFT_TEST_CACHE"] = tempfile.mkdtemp(prefix="weft-test-cache-")
os.environ["WEFT_CACHE_DIR"] = os.environ["WEFT_TEST_CACHE"]


def pytest_configure(config):
    if not gpu_is_asked_for(config):
        os.environ.setdefault("WEFT_LIBCUDA", "hidden-from-tests-without-m-gpu.so")


def gpu_is_asked_for(config) -> bool:
    """Whether this is `pytest -m gpu`: the tests of tests/cuda for real."""
    return re.search(r"(?<!not )\bgpu\b", config.getoption("markexpr")) is not None


@pytest.fixture
def fresh():
    """Nothing captured or compiled before, nothing left behind; counters from zero."""
    import weft
    from dynamo import convert_frame

    weft.compiler.reset()
    convert_frame.counters.clear()
    yield
    weft.compiler.reset()
