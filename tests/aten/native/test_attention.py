"""Attention of tensors and its derivative against NumPy in float64."""

import ml_dtypes
import numpy as np
import pytest

from aten import _native
from aten._native import attention_derivative_into, attention_into, from_numpy

pytestmark = pytest.mark.skipif(not _native._gemm_table(3), reason="the kernel needs AVX2")


def reference(q, k, v, mask, causal, scale, g):
    """Result and derivatives, in float64."""
    q, k, v, g = (x.astype(np.float64) for x in (q, k, v, g))
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask.astype(np.float64)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    gp = g @ np.swapaxes(v, -1, -2)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True)) * scale
    return p @ v, gs @ k, np.swapaxes(gs, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g


def check(batch, rows, keys, width, value_width, dtype=np.float32, mask=None, causal=False, eps=3e-5, heads_last=False):
    rng = np.random.default_rng(0)

    def random(n, m):
        if heads_last:  # as a model has it: [batch, rows, heads, width] seen as [batch, heads, rows, width]
            return np.swapaxes(rng.standard_normal((batch[0], n, batch[1], m)).astype(dtype), 1, 2)
        return rng.standard_normal((*batch, n, m)).astype(dtype)

    q, k, v, g = random(rows, width), random(keys, width), random(keys, value_width), random(rows, value_width)
    scale = 0.3
    expected = reference(q, k, v, mask, causal, scale, g)
    results = [np.full(x.shape, np.nan, dtype) for x in expected]
    out, *grads = results
    tensors = [from_numpy(x) for x in (q, k, v)]
    extra = None if mask is None else from_numpy(mask)
    assert attention_into(from_numpy(out), *tensors, extra, causal, scale)
    given = [*map(from_numpy, (*grads, g)), *tensors, extra, from_numpy(out)]
    assert attention_derivative_into(*given, causal, scale)
    for name, result, right in zip(("out", "query", "key", "value"), results, expected):
        largest = np.abs(right).max(initial=1)
        np.testing.assert_allclose(result.astype(np.float64), right, rtol=0, atol=eps * largest, err_msg=name)
    return results


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows, keys", [(1, 1), (64, 64), (37, 53), (5, 300), (300, 140), (513, 129)])
def test_sizes(rows, keys, causal):
    check((2,), rows, keys, 32, 32, causal=causal)


@pytest.mark.parametrize("width, value_width", [(1, 1), (5, 70), (129, 40), (400, 16)])
def test_widths(width, value_width):
    check((1, 2), 40, 150, width, value_width, eps=1e-4)


@pytest.mark.parametrize("dtype, eps", [(ml_dtypes.bfloat16, 3e-2), (np.float16, 4e-3)])
def test_half_types(dtype, eps):
    check((2,), 70, 66, 24, 24, dtype, causal=True, eps=eps)


@pytest.mark.parametrize("shape", [(45, 140), (1, 140), (45, 1), (2, 1, 45, 140), (3, 45, 140)])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks_are_repeated(shape, kind):
    rng = np.random.default_rng(1)
    mask = rng.random(shape) < 0.7 if kind == "bool" else rng.standard_normal(shape).astype(np.float32)
    check((2, 3), 45, 140, 16, 16, mask=mask)


def test_a_row_that_sees_nothing_gives_zeros():
    mask = np.ones((20, 150), bool)
    mask[3] = False
    mask[4, :140] = False
    out, *grads = check((2,), 20, 150, 16, 16, mask=mask)
    assert (out[:, 3] == 0).all() and (grads[0][:, 3] == 0).all()


def test_no_keys_give_zeros():
    out, *_ = check((2,), 4, 0, 8, 8)
    assert (out == 0).all()
    check((0,), 4, 4, 8, 8)
    check((2,), 0, 4, 8, 8)


def test_heads_apart_in_memory():
    check((2, 4), 64, 64, 32, 32, causal=True, heads_last=True)


def test_nan_reaches_its_row_only():
    q, k, v = (np.random.default_rng(0).standard_normal((40, 16)).astype(np.float32) for _ in range(3))
    q[7, 3] = np.nan
    out = np.zeros((40, 16), np.float32)
    assert attention_into(*map(from_numpy, (out, q, k, v)), None, False, 1.0)
    assert np.isnan(out[7]).all() and np.isfinite(np.delete(out, 7, 0)).all()


def test_threads_do_not_change_a_bit():
    before, results = _native.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            _native.set_num_threads(threads)
            results.append(check((3,), 200, 200, 32, 32, causal=True))
    finally:
        _native.set_num_threads(before)
    for other in results[1:]:
        assert all((a == b).all() for a, b in zip(results[0], other))


def test_what_no_kernel_takes():
    x = from_numpy(np.zeros((4, 4)))
    assert not attention_into(x, x, x, x, None, False, 1.0)
    y = from_numpy(np.zeros((4, 4), np.float32))
    with pytest.raises(RuntimeError, match="sizes do not fit"):
        attention_into(y, y, from_numpy(np.zeros((4, 5), np.float32)), y, None, False, 1.0)
