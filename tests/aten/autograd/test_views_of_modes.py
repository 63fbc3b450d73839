"""Views whose writes autograd cannot follow: made where nothing is recorded, among several results, by a user's function."""

import pytest

import weft
from weft import inference_mode, no_grad, ones


def a_result():
    return ones(4, requires_grad=True).clone()


def test_a_view_made_under_no_grad_takes_no_write_that_is_recorded():
    x = a_result()
    with no_grad():
        view = x[:2]
        of_view = view.view(2, 1)
        view.mul_(2)
    assert view.requires_grad and view.is_leaf
    for v in (view, of_view):
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
            v.mul_(2)


def test_a_view_made_under_no_grad_is_invalid_once_its_base_is_written():
    x = a_result()
    with no_grad():
        view = x[:2]
    x.mul_(3)
    with pytest.raises(RuntimeError, match="no_grad mode and its base or another view of its base has been modified"):
        assert view.grad_fn is None
    with pytest.raises(RuntimeError, match="its base or another view"):
        view.mul(2)
    assert repr(view) == "tensor([3., 3.], grad_fn=<Invalid>)"


def test_a_view_made_under_inference_mode_is_an_ordinary_view():
    x = a_result()
    with inference_mode():
        view = x.view(2, 2)
        view.add_(1)
        assert not view.is_inference() and view.requires_grad and view._is_view() and x._version == 1
        assert ones(2)[:1].is_inference()
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace in normal mode"):
        view.add_(1)
    plain = ones(4)
    with inference_mode():
        view = plain[:2]
    assert view.add_(1).tolist() == [2, 2] and plain.tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize("apart", [lambda x: x.unbind(0), lambda x: x.split(2), lambda x: x.chunk(2)])
def test_one_of_several_views_takes_no_write(apart):
    for view in (apart(a_result())[0], apart(a_result())[0][...], apart(a_result())[0].view(-1)):
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace. This view is the output of a function"):
            view.mul_(2)
    assert apart(ones(4))[0].mul_(2).sum().item() in (2, 4)


@pytest.mark.parametrize("apart", [lambda x: x.split(4), lambda x: x.split([4]), lambda x: x.chunk(1), lambda x: x[:1].unbind(0)])
@pytest.mark.parametrize("run", [lambda f: f, lambda f: weft.compile(f, backend="eager")])
def test_the_only_one_of_what_may_be_several_views_takes_no_write(apart, run):
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace. This view is the output of a function"):
        run(lambda x: apart(x * 1)[0].zero_())(ones(4, requires_grad=True))


class Part(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:2]

    @staticmethod
    def backward(ctx, grad):
        return weft.cat([grad, grad])


class Same(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


@pytest.mark.parametrize("function", [Part, Same])
def test_a_view_made_by_a_function_takes_no_write(function):
    x = a_result()
    view = function.apply(x)
    assert view._is_view() and view.grad_fn.name() == f"{function.__name__}Backward"
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        view.mul_(2)


def test_an_input_returned_as_it_came_has_the_functions_gradient():
    x = ones(2, requires_grad=True)
    Same.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3]
