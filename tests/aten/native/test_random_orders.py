"""Random orders are those of the keys they are made of, on every instruction set, whether words go to parts once or again."""

import numpy as np
import pytest

from aten import _native
from aten.op import registry

SIZES = (0, 1, 2, 3, 8, 9, 100, 2047, 2048, 2049, 5000, 70000, 262144, 524288, 524289, 3000000)


@pytest.mark.parametrize("level", (3, 4))
def test_the_order_of_the_keys(level):
    _native._use_kernels(level)
    try:
        for n in SIZES:
            for seed in (0, 5):
                keys = np.empty(n)
                _native.philox_uniform(_native.from_numpy(keys), seed, 3)
                assert np.array_equal(registry["randperm_philox"](n, seed, 3).numpy(), np.argsort(keys, kind="stable")), n
    finally:
        _native._use_kernels(4)
