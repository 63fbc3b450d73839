"""`.data` counts its writes apart, and what is given other memory by `.data =` keeps the count it had: PyTorch's facts."""

import pytest

import weft


def test_data_counts_from_zero():
    x = weft.ones(3)
    x.add_(1)
    d = x.data
    d.add_(1)
    d[0].mul_(2)
    assert (x._version, d._version, d[1:]._version, x.data._version, x.detach()._version) == (1, 2, 2, 0, 1)


def test_given_memory_a_tensor_keeps_its_version():
    x, y = weft.ones(3), weft.zeros(3)
    y.add_(1).add_(1)
    y.data = x
    assert (y._version, x._version) == (2, 0)
    x.add_(1)
    assert (y._version, x._version) == (2, 1)
    y[1:].zero_()
    assert (y._version, x._version) == (3, 1) and x.tolist() == y.tolist() == [2, 0, 0]
    x.data = x.data
    x.add_(1)
    assert x._version == 2


def test_writes_through_the_other_are_not_seen_by_backward():
    w = weft.ones(2, requires_grad=True)
    y, q = weft.ones(2, requires_grad=True), weft.ones(2)
    y.data = q
    product = y * w
    q.add_(5)
    product.sum().backward()
    assert w.grad.tolist() == [6, 6]
    product = y * w
    with weft.no_grad():
        y.add_(5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_a_gradient_through_data_counts_its_own_writes():
    x, w = weft.ones(3), weft.ones(3, requires_grad=True)
    product = x.data.requires_grad_() * w
    x.add_(1)
    product.sum().backward()
    assert w.grad.tolist() == [2, 2, 2]
    d = x.data
    product = d * w
    d.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        product.sum().backward()


def test_views_do_not_take_writes_of_data_for_their_own():
    x = weft.ones(3, requires_grad=True)
    b = x * 1
    v = b[:2]
    b.data.mul_(3)
    assert b._version == v._version == 0
    (v * b[:2]).sum().backward()
    assert x.grad.tolist() == [6, 6, 0]


def test_a_parameter_whose_data_is_replaced():
    p = weft.nn.Parameter(weft.ones(3))
    for _ in range(3):
        p.data = p.data * 2
    p.data.add_(1)
    assert p._version == 0 and p.tolist() == [9, 9, 9]
    with weft.no_grad():
        p.add_(1)
    assert p._version == 1
