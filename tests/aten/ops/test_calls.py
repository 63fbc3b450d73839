"""How an op is called: binding, promotion, broadcasting, in-place, out=."""

import pytest

import aten


def test_numbers_take_the_category_but_not_the_size_of_tensors():
    x = aten.tensor([1, 2], dtype=aten.int32)
    assert (x + 1).dtype is aten.int32
    assert (x + 1.5).dtype is aten.float32
    assert (x + aten.tensor(2.0, dtype=aten.float64)).dtype is aten.float64
    assert (aten.ones(2) + aten.tensor(2.0, dtype=aten.float64)).dtype is aten.float32
    assert (x / 2).dtype is aten.float32
    assert (aten.tensor([1.0]) + aten.tensor([1.0], dtype=aten.float16)).dtype is aten.float32


def test_a_call_that_does_not_fit_names_the_argument():
    x = aten.tensor([1.0])
    with pytest.raises(TypeError, match=r"add\(\): argument 'other' \(position 2\) must be Tensor, not str"):
        aten.add(x, "a")
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "other"'):
        aten.add(x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        aten.add(x, x, foo=1)
    with pytest.raises(RuntimeError, match=r"size of tensor a \(2\) must match the size of tensor b \(3\)"):
        aten.zeros(2) + aten.zeros(3)


def test_in_place_keeps_the_dtype_and_the_sizes_of_its_target():
    x = aten.tensor([1, 2, 3])
    assert x.add_(2) is x and x.tolist() == [3, 4, 5]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        x.add_(0.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(aten.zeros(2, 3, dtype=aten.int64))
    view = x[1:]
    view *= 2
    assert x.tolist() == [3, 8, 10] and x._version == 2


def test_out_is_written_and_returned():
    out = aten.empty(3)
    assert aten.add(aten.ones(3), 1, out=out) is out and out.tolist() == [2, 2, 2]


def test_views_share_memory():
    x = aten.arange(6).reshape(2, 3)
    x.t()[0, 1] = 10
    assert x.tolist() == [[0, 1, 2], [10, 4, 5]]
    assert x[:, None, 1:].shape == (2, 1, 2)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.t().view(6)


def test_a_gradient_reaches_its_leaf_through_a_recorded_node():
    x = aten.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    assert y.grad_fn.name() == "SumBackward0"
    (g,) = y.grad_fn.backward(y.grad_fn, (aten.ones(()),))
    assert g.tolist() == [1, 1]


def test_gradients_of_norms_over_several_dims_have_the_sizes_of_their_parameters():
    x = aten.randn(2, 2, 3)
    for with_weight in (False, True):
        weight = aten.ones(2, 3, requires_grad=True) if with_weight else None
        bias = aten.zeros(2, 3, requires_grad=True)
        aten.layer_norm(x, [2, 3], weight, bias).sum().backward()
        assert bias.grad.tolist() == [[2.0] * 3] * 2
        assert weight is None or weight.grad.shape == (2, 3)


def test_in_place_keeps_what_its_derivative_needs():
    a = aten.tensor([0.2, 3.0], requires_grad=True)
    b = aten.tensor([2.0, 5.0], requires_grad=True)
    x = (a * 1).clamp_(-1, 1).mul_(b)
    x.sum().backward()
    assert a.grad.tolist() == [2.0, 0.0] and b.grad.tolist() == pytest.approx([0.2, 1.0])


def test_a_result_that_no_derivative_needs_may_be_written():
    a = aten.tensor([[3.0, 1.0], [2.0, 4.0]], requires_grad=True)
    quotient = a / a.detach()
    quotient.add_(1)
    values = (a * 1).max(0)[0]
    values.mul_(2)
    (quotient.sum() + values.sum()).backward()
    assert a.grad.tolist() == [[pytest.approx(1 / 3 + 2), 1.0], [0.5, pytest.approx(0.25 + 2)]]
