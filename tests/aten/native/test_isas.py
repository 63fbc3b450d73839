"""Sums have one order on every instruction set (docs/design.md): the same bits with AVX2 and with AVX-512, where there are both."""

import numpy as np
import pytest

import weft
from aten import _native
from tests.aten.native.test_reduce import tree
from weft import from_numpy

SIZES = [(5, 1), (3, 7), (4, 63), (2, 64), (3, 1000), (2, 8192), (3, 8193), (2, 30000), (1, 300001), (40, 33, 70)]


@pytest.fixture
def kernels():
    """(level, name) of the instruction sets that there are, lowest first."""
    levels = {3: "avx2", 4: "avx512"}
    found = [(level, name) for level, name in levels.items() if _native._use_kernels(level) == name]
    assert found, "kernels are built for AVX2 at least"
    yield found
    _native._use_kernels(4)


def sums(x):
    dims = range(x.ndim)
    found = [x.sum(d) for d in dims] + [x.mean(d, keepdim=True) for d in dims] + [x.sum(), x.transpose(0, -1).sum(0)]
    return [np.asarray(t.detach().float() if t.dtype.itemsize == 2 else t.detach()).tobytes() for t in found]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_sums_have_the_same_bits_on_every_instruction_set(kernels, dtype):
    generator = np.random.default_rng(0)
    for sizes in SIZES:
        x = from_numpy(generator.standard_normal(sizes)).to(getattr(weft, dtype))
        results = {}
        for level, name in kernels:
            assert _native._use_kernels(level) == name
            results[name] = sums(x)
        assert len({tuple(r) for r in results.values()}) <= 1, sizes


def test_the_lowest_instruction_set_has_the_order_that_is_stated(kernels):
    y = np.random.default_rng(0).standard_normal((5, 777)).astype(np.float32)
    for level, _ in kernels:
        _native._use_kernels(level)
        np.testing.assert_array_equal(from_numpy(y).sum(1).numpy(), [tree(row) for row in y])
