"""Small models trained for some steps: compiled, static and symbolic, from nothing and from the disk, shows what eager shows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import weft
from aten.settings import patch
from tests.weft.models import CASES, train

TOLERANCE = 1e-4


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_training_compiled_is_training_eager(case, tmp_path):
    want = train(weft, case, lambda model: model)
    with patch(cache_dir=str(tmp_path)):
        for dynamic in (None, None, True)[: 2 + case.symbolic]:  # the second finds all on disk
            weft._dynamo.reset()
            check(train(weft, case, partial(weft.compile, dynamic=dynamic)), want)


def check(got, want):
    assert got.keys() == want.keys()
    for name, b in want.items():
        a = got[name]
        assert a.shape == b.shape and a.dtype == b.dtype, name
        scale = max(1.0, float(np.abs(b).max(initial=0)))
        np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * scale, err_msg=name)
