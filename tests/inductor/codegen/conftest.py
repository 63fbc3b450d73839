"""What tests of generated C++ share."""

import pytest

from tests.inductor.codegen.harness import WIDTHS


@pytest.fixture(params=WIDTHS, ids=lambda isa: str(8 * isa.bytes))
def isa(request):
    """The vectors of this machine, and those of AVX2."""
    return request.param
