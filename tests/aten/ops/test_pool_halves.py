"""Means of parts of halves are rounded once."""

import pytest

import weft


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
@pytest.mark.parametrize("out", [1, 3, 5])
def test_adaptive_means(dtype, out):
    x = weft.randn(2, 3, 7, 8).to(dtype)
    pool = lambda x: weft.nn.functional.adaptive_avg_pool2d(x, out)
    assert weft.equal(pool(x), pool(x.float()).to(dtype))
    assert weft.equal(weft.compile(pool)(x), pool(x))
