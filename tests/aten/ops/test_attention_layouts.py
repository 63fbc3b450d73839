"""How results of attention lie: as the query where PyTorch's flash kernel takes it (PyTorch 2.13's strides), else row-major."""

import pytest

import weft
from weft.nn.functional import scaled_dot_product_attention as attention

MOVED = (120, 8, 24, 1)  # of [2, 3, 5, 8]: positions before heads
ROWS = (120, 40, 8, 1)


def heads(dtype=weft.float32):
    return weft.randn(2, 5, 3, 8, dtype=dtype).transpose(1, 2)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16, weft.float16])
def test_as_the_query(dtype):
    x, rows = heads(dtype), heads(dtype).contiguous()
    masks = weft.ones(5, 5, dtype=weft.bool), weft.zeros(5, 5, dtype=dtype)
    for more in ({}, {"is_causal": True}, *[{"attn_mask": mask} for mask in masks]):
        assert attention(x, x, x, **more).stride() == MOVED
        assert attention(x, rows, rows, **more).stride() == MOVED
        assert attention(rows, x, x, **more).stride() == ROWS
    y = attention(x, x, x)
    assert y.transpose(1, 2).view(2, 5, 24).shape == (2, 5, 24)  # no copy is needed
    assert weft.allclose(y.float(), attention(x.contiguous(), x.contiguous(), x.contiguous()).float(), atol=1e-2)


def test_row_major():
    x = heads()
    mask = weft.zeros(2, 3, 5, 5, requires_grad=True)
    assert attention(x, x, x, mask).stride() == ROWS
    assert attention(x, x, x[..., :4]).stride() == (60, 20, 4, 1)
    assert attention(x, x, x, dropout_p=0.5).stride() == ROWS
    three = weft.randn(5, 3, 8).transpose(0, 1)
    assert attention(three, three, three).stride() == (40, 8, 1)
    across = weft.randn(2, 3, 8, 5).transpose(2, 3)
    assert attention(across, across, across).stride() == ROWS


def test_other_orders_and_parts():
    x = weft.randn(5, 2, 3, 8).permute(1, 2, 0, 3)
    assert attention(x, x, x).stride() == (24, 8, 48, 1)
    q, k, v = weft.randn(2, 5, 9, 8).transpose(1, 2).chunk(3, 1)
    assert attention(q, k, v).stride() == MOVED
    x = heads()
    assert attention(x[:, :, :2], x, x).stride() == (48, 8, 24, 1)
    assert attention(x, x[:, :1], x[:, :1], enable_gqa=True).stride() == MOVED


def test_gradients():
    """Positions come before heads, where a linear's are; a leaf's `grad` lies as the leaf."""
    rows = [heads().contiguous().requires_grad_() for _ in range(3)]
    for x in ([heads().requires_grad_() for _ in range(3)], rows):
        y = attention(*x)
        assert [g.stride() for g in weft.autograd.grad(y.sum(), x)] == [MOVED] * 3
    attention(*rows).sum().backward()
    assert [x.grad.stride() for x in rows] == [ROWS] * 3
    x = [heads(weft.float64).requires_grad_() for _ in range(3)]
    assert weft.autograd.gradcheck(attention, x)


def test_compiled():
    x = [heads().requires_grad_() for _ in range(3)]
    compiled = weft.compile(lambda q, k, v: attention(q, k, v))
    assert compiled(*x).stride() == MOVED
    f = weft.compile(lambda q, k, v: attention(q, k, v).transpose(1, 2).view(2, 5, 24))
    assert weft.allclose(f(*x), attention(*x).transpose(1, 2).reshape(2, 5, 24), atol=1e-5)
    found = weft.autograd.grad(f(*x).square().sum(), x)
    for g, h in zip(found, weft.autograd.grad(attention(*x).square().sum(), x)):
        assert weft.allclose(g, h, atol=1e-5)
