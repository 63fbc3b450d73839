"""Attention under torch.ops.aten. Answers of PyTorch 2.13 for query = key = value = arange(24) / 10 of shape [1, 2, 3, 4]."""

import pytest

import weft

A, INF = weft.ops.aten, float("inf")


def near(a, b):
    return weft.allclose(a, weft.tensor(b), atol=1e-4)


def test_safe_softmax_gives_nothing_to_rows_that_see_nothing():
    x = weft.tensor([[1.0, -INF], [-INF, -INF]], requires_grad=True)
    out = A._safe_softmax.default(x, -1)
    assert out.tolist() == [[1, 0], [0, 0]]
    out.sum().backward()
    assert not x.grad.isnan().any()
    assert A._safe_softmax(weft.ones(2), 0, weft.float64).dtype is weft.float64


def test_attention_with_its_weights():
    q = weft.arange(24.0).reshape(1, 2, 3, 4) / 10
    out, weights = A._scaled_dot_product_attention_math(q, q, q, is_causal=True)
    assert near(weights[0, 0], [[1, 0, 0], [0.3917, 0.6083, 0], [0.1297, 0.2773, 0.5930]])
    assert near(out[0, 0], [[0, 0.1, 0.2, 0.3], [0.2433, 0.3433, 0.4433, 0.5433], [0.5853, 0.6853, 0.7853, 0.8853]])
    kept = weft.tensor([True, True, False])
    dropped = A._scaled_dot_product_attention_math(q, q, q, None, 0.5, False, kept)[1]
    assert (dropped[..., 2] == 0).all() and (dropped[..., :2] > 0).all()


def test_attention_with_the_logarithms_of_its_sums():
    q = weft.arange(24.0).reshape(1, 2, 3, 4) / 10
    out, sums = A._scaled_dot_product_flash_attention_for_cpu(q, q, q)
    assert near(sums, [[[1.2934, 1.7921, 2.3526], [6.2050, 7.8180, 9.4616]]])
    assert weft.equal(out, weft.nn.functional.scaled_dot_product_attention(q, q, q))
    with pytest.raises(RuntimeError, match="4 dims"):
        A._scaled_dot_product_flash_attention_for_cpu(q[0], q[0], q[0])


def test_kernels_of_cuda_are_refused_on_the_cpu():
    q = weft.ones(1, 2, 3, 4)
    with pytest.raises(NotImplementedError, match="'aten::_flash_attention_forward' with arguments from the 'CPU' backend"):
        A._flash_attention_forward(q, q, q, None, None, 2, 2, 0.0, False, False)
    with pytest.raises(NotImplementedError, match="_efficient_attention_forward"):
        A._efficient_attention_forward(q, q, q, None, None, None, None, None, 0.0, 0)


def test_zeros_laid_out_as_another_tensors_memory():
    other = weft.zeros(4, 6, dtype=weft.float64)[:, 1:4].t()
    plain = A._new_zeros_with_same_feature_meta(weft.ones(5), other)
    assert (plain.shape, plain.stride(), plain.storage_offset(), plain.dtype) == ((3, 4), (1, 6), 1, weft.float64)
    made = A._new_zeros_with_same_feature_meta(weft.ones(2, 5, 7), other, self_num_batch_dims=2)
    assert (made.shape, made.stride(), made.storage_offset()) == ((2, 5, 3, 4), (120, 24, 1, 6), 1)
    assert len(made.untyped_storage()) == 10 * len(other.untyped_storage())
    mapped = weft.vmap(A._new_zeros_with_same_feature_meta)(weft.ones(5, 2), weft.ones(5, 4, 3).mT)
    assert mapped.shape == (5, 3, 4) and not mapped.any()


def test_softmax_of_what_a_mask_leaves():
    """Answers of PyTorch 2.13."""
    x, mask = weft.arange(6.0).reshape(2, 3).requires_grad_(), weft.tensor([[True, False, False], [True, True, True]])
    out = weft._masked_softmax(x, mask, 1, 2)
    assert near(out[0], [0, 0.2689, 0.7311]) and out[1].isnan().all()
    assert weft._masked_softmax(x, mask, 0, 2)[:, 1:].tolist() == [[1, 1], [0, 0]]
    out[0].square().sum().backward()
    assert x.grad[1].tolist() == [0, 0, 0] and x.grad[0, 0] == 0 and x.grad[0, 2] > 0
    scores, keys = weft.arange(36.0).reshape(2, 2, 3, 3), weft.tensor([[True, False, False], [False, False, True]])
    shown = weft._masked_softmax(scores, keys[:, None, None].expand(2, 2, 3, 3), 3, 2)
    assert weft.equal(weft._masked_softmax(scores, keys, None, 1), shown)
    pairs = weft.ones(3, 3, dtype=weft.bool).triu(1)
    assert weft._masked_softmax(scores, pairs, 3, 0)[1, 1, 0].tolist() == [1, 0, 0]
    wrong = ((keys[:1], 1, r"\(B, L\)"), (keys, 0, r"\(L, L\)"), (keys.float(), 1, "boolean"), (keys, 2, "match input"))
    for mask, kind, text in wrong:
        with pytest.raises(RuntimeError, match=text):
            weft._masked_softmax(scores, mask, 3, kind)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16, weft.float64], ids=str)
def test_masks_of_float32_are_for_queries_of_any_dtype(dtype):
    weft.manual_seed(0)
    q, k, v = (weft.randn(2, n, 4).to(dtype).requires_grad_() for n in (3, 5, 5))
    mask = weft.randn(3, 5).requires_grad_()
    attend = lambda q, k, v, m: weft.nn.functional.scaled_dot_product_attention(q, k, v, m)
    expected = attend(*(t.detach().double() for t in (q, k, v)), mask.double())
    for f in (attend, weft.compile(attend, fullgraph=True)):
        found = f(q, k, v, mask)
        assert found.dtype is dtype and weft.allclose(found.double(), expected, rtol=0.05, atol=0.02)
        slopes = weft.autograd.grad(found.float().sum(), (q, mask))
        assert [g.dtype for g in slopes] == [dtype, weft.float32]
    with pytest.raises(RuntimeError, match="Expected attn_mask dtype"):
        attend(q.detach().float(), k.detach().float(), v.detach().float(), mask.double())


def test_second_derivatives_where_a_row_sees_nothing():
    weft.manual_seed(0)
    q, k, v = (weft.randn(1, n, 4, dtype=weft.float64).requires_grad_() for n in (2, 3, 3))
    mask = weft.tensor([[True, False, True], [False, False, False]])
    y = weft.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    slopes = weft.autograd.grad((y * y).sum(), (q, k), create_graph=True)
    again = weft.autograd.grad(sum((g * g).sum() for g in slopes), (q, k, v))
    assert all(g.isfinite().all() for g in again) and again[0][0, 1].tolist() == [0, 0, 0, 0] and again[1].abs().sum() > 0


def test_gradients_of_masks_of_float32_are_not_rounded_to_halves():
    weft.manual_seed(0)
    q, k, v = (weft.randn(1, n, 4).bfloat16() for n in (3, 5, 5))
    mask = weft.randn(3, 5).requires_grad_()
    found = weft.autograd.grad(weft.nn.functional.scaled_dot_product_attention(q, k, v, mask).float().sum(), mask)[0]
    assert not weft.equal(found, found.bfloat16().float())
