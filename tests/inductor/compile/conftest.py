"""What tests of compilations share."""

import pytest

import weft
from aten import settings


@pytest.fixture
def own_cache(tmp_path):
    """Nothing is known from before: no compilation in this process, and none in the cache."""
    with settings.patch(cache_dir=str(tmp_path / "cache")):
        weft.compiler.reset()
        yield
