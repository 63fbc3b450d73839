"""What tests of compilations share."""

import pytest

import weft
from aten import settings
from inductor.codegen import cpp


@pytest.fixture
def own_cache(tmp_path):
    """Nothing is known from before: no compilation in this process, and none in the cache."""
    with settings.patch(cache_dir=str(tmp_path / "cache")):
        weft.compiler.reset()
        yield


@pytest.fixture
def kernels_made(monkeypatch):
    """The C++ of the kernels that have been made since, a text for each Program that has any."""
    made, written = [], cpp.written

    def recorded(*args, **kwargs):
        text = written(*args, **kwargs)
        made.append("\n".join(text.kernels))
        return text

    monkeypatch.setattr(cpp, "written", recorded)
    return made
