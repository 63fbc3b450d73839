"""The first gradient of a leaf lies as the leaf does; `.data` of a leaf that requires grad."""

import pytest

import weft


@pytest.mark.parametrize("layout", [weft.contiguous_format, weft.channels_last])
@pytest.mark.parametrize("other", [weft.contiguous_format, weft.channels_last])
def test_a_gradient_is_laid_out_as_its_leaf(layout, other):
    a = weft.ones(2, 3, 4, 5).to(memory_format=layout).requires_grad_()
    b = weft.full((2, 3, 4, 5), 2.0).to(memory_format=other).requires_grad_()
    (a * b).sum().backward()
    assert a.grad.stride() == a.stride() and b.grad.stride() == b.stride()
    assert a.grad.eq(2).all() and b.grad.eq(1).all()
    a.grad = None
    a.sum().backward()
    assert a.grad.stride() == a.stride()


def test_of_a_leaf_with_gaps_it_is_row_major():
    c = weft.empty_strided((2, 2), (4, 2)).fill_(1).requires_grad_()
    (c * weft.ones(2, 2)).sum().backward()
    assert c.grad.stride() == (2, 1)


def test_data_of_a_leaf_that_requires_grad_is_floating():
    a = weft.tensor(1.0, requires_grad=True)
    a.data = weft.tensor(2.0)
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        a.data = weft.tensor(3)
    with pytest.raises(RuntimeError, match="Deleting tensor data"):
        del a.data
