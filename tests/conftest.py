"""Every test runs strict (internal errors of the compiler raise) and with a cache folder of its own."""
import os
import tempfile

import pytest

os.environ.setdefault("WEFT_STRICT", "1")
if "WEFT_TEST_CACHE" not in os.environ:
    os.environ["WEFT_TEST_CACHE"] = tempfile.mkdtemp(prefix="weft-test-cache-")
os.environ["WEFT_CACHE_DIR"] = os.environ["WEFT_TEST_CACHE"]


@pytest.fixture
def fresh():
    """Nothing captured or compiled before, nothing left behind; counters from zero."""
    import weft
    from dynamo import convert_frame

    weft.compiler.reset()
    convert_frame.counters.clear()
    yield
    weft.compiler.reset()
