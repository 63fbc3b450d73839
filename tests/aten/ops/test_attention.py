"""Attention that drops weights: of every dtype, with every kind of mask, eager and compiled."""

import pytest

import weft

F = weft.nn.functional
DTYPES = (weft.float32, weft.float64, weft.float16, weft.bfloat16)
MASKS = {
    "none": lambda dtype: {},
    "causal": lambda dtype: {"is_causal": True},
    "truth": lambda dtype: {"attn_mask": weft.ones(5, 5, dtype=weft.bool).tril()},
    "added": lambda dtype: {"attn_mask": weft.linspace(-1, 1, 25).reshape(5, 5).to(dtype)},
    "added float32": lambda dtype: {"attn_mask": weft.linspace(-1, 1, 25).reshape(5, 5)},
    "grouped": lambda dtype: {"enable_gqa": True},
}


def drawn(dtype, heads=4):
    generator = weft.Generator().manual_seed(1)
    q, k, v = (weft.randn(2, n, 5, 8, generator=generator).to(dtype).requires_grad_() for n in (4, heads, heads))
    return q, k, v


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MASKS)
def test_dropped_weights_keep_the_dtype_and_the_mean(name, dtype):
    mask = MASKS[name](dtype)
    if "float32" in name and dtype is weft.float64:
        mask = {"attn_mask": mask["attn_mask"].double()}
    inputs = drawn(dtype, 2 if name == "grouped" else 4)
    weft.manual_seed(0)
    whole = F.scaled_dot_product_attention(*inputs, **mask)
    results = [F.scaled_dot_product_attention(*inputs, dropout_p=0.25, **mask) for _ in range(300)]
    assert {(r.dtype, r.shape) for r in results} == {(dtype, whole.shape)}
    mean = sum(r.detach().double() for r in results) / len(results)
    assert (mean - whole.detach().double()).abs().max() < 0.35
    for g in weft.autograd.grad(results[0].double().sum(), inputs):
        assert g.dtype is dtype and g.isfinite().all()
    assert F.scaled_dot_product_attention(*inputs, dropout_p=1.0, **mask).eq(0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled(dtype):
    inputs = drawn(dtype)

    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, is_causal=True)

    result = weft.compile(f, fullgraph=True)(*inputs)
    assert result.dtype is dtype and result.shape == (2, 4, 5, 8)
    result.double().sum().backward()
    assert all(t.grad.dtype is dtype and t.grad.isfinite().all() for t in inputs)


def test_the_default_scale_is_one_number_however_the_size_is_known():
    """1 / sqrt(E), which E ** -0.5 is not for each E; of scores in the hundreds exp shows the last bit."""
    for depth in (8, 24, 40):
        q = weft.arange(float(3 * 7 * depth)).reshape(3, 7, depth).double().sin() * 12

        def f(q):
            return F.scaled_dot_product_attention(q, q * 0.5, q + 1, q @ q.transpose(-1, -2))

        for dynamic in (False, True):
            assert weft.equal(weft.compile(f, dynamic=dynamic, options={"exact": True})(q), f(q))


def test_keys_of_no_numbers_weigh_alike():
    values = weft.arange(6.0).reshape(1, 3, 2)
    found = F.scaled_dot_product_attention(weft.ones(1, 2, 0), weft.ones(1, 3, 0), values)
    assert weft.allclose(found, values.mean(1, keepdim=True).expand(1, 2, 2))
