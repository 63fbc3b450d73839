"""Products with one row or one column: what a sum is does not depend on gaps between the elements of its operands."""

import itertools

import pytest

import weft


def gapped(t, steps):
    wide = weft.zeros([n * k for n, k in zip(t.shape, steps)], dtype=t.dtype)
    return wide[tuple(slice(None, None, k) for k in steps)].copy_(t)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16, weft.float16, weft.complex64])
@pytest.mark.parametrize("k", [1, 7, 16, 33, 300, 5000])
def test_dot(k, dtype):
    a, b = weft.randn(k, dtype=dtype), weft.randn(k, dtype=dtype)
    for x, y in itertools.product((a, gapped(a, [2])), (b, gapped(b, [3]))):
        assert weft.equal(weft.dot(x, y), weft.dot(a, b))


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16, weft.float16])
@pytest.mark.parametrize("m, k", [(3, 7), (5, 33), (40, 300), (1100, 90), (3, 70000)])
def test_a_matrix_by_a_vector(m, k, dtype):
    a, v = weft.randn(m, k, dtype=dtype), weft.randn(k, dtype=dtype)
    across = a.t().contiguous().t()
    for steps, g in itertools.product(([1, 1], [2, 1], [1, 2], [2, 3]), (1, 2)):
        vector = gapped(v, [g])
        assert weft.equal(gapped(a, steps) @ vector, a @ v)
        assert weft.equal(vector @ gapped(a, steps).t(), v @ a.t())
        assert weft.equal(gapped(across.t(), steps).t() @ vector, across @ v)
        assert weft.equal(gapped(a, steps)[None] @ vector[None, :, None], a[None] @ v[None, :, None])
