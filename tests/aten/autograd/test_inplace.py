"""In-place writes and history: tensors, views, their bases, and what stays refused."""

import pytest

import aten
from aten import tensor


def leaf(*values):
    return tensor(list(values), requires_grad=True)


def test_a_written_tensor_takes_the_history_of_what_was_written():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.mul_(y.detach().clone())
    assert y.grad_fn.name() == "MulBackward0" and y._version == 1
    y.sum().backward()
    assert x.grad.tolist() == [9, 18]


def test_a_plain_tensor_becomes_part_of_the_graph():
    x, total = leaf(2.0), aten.zeros(1)
    total.add_(x * x)
    assert total.requires_grad and not total.is_leaf
    total.backward()
    assert x.grad.tolist() == [4]


def test_writing_a_view_changes_the_history_of_its_base():
    x, w = leaf(1.0, 2.0, 3.0), leaf(10.0, 20.0)
    y = x * 2
    y[1:].copy_(w * w)
    assert y.grad_fn.name() == "CopySlices"
    (y * tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [2, 0, 0] and w.grad.tolist() == [40, 120]


def test_views_of_a_written_base_take_its_history():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    view = y.view(2, 2).t()
    y.mul_(5)
    assert view.tolist() == [[5, 15], [10, 20]]
    (view * tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [5, 15, 10, 20]


def test_a_chain_of_views():
    x = leaf(*[float(i) for i in range(6)])
    y = (x * 1).reshape(2, 3)
    y.t()[1:].unsqueeze(0).mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [1, 10, 10, 1, 10, 10]
    x.grad = None
    z = x * 1
    for i in range(3):
        z[i].add_(z[5] * i)
    z.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1, 1, 4]


def test_setitem_is_differentiable():
    x, v = leaf(1.0, 2.0, 3.0), leaf(7.0)
    y = x * x
    y[0] = v[0] * 2
    y.sum().backward()
    assert x.grad.tolist() == [0, 4, 6] and v.grad.tolist() == [2]


def test_a_view_that_is_a_leaf_keeps_its_own_gradient():
    base = aten.zeros(4)
    view = base[:2].requires_grad_()
    base.add_(1)
    assert view.requires_grad and view.is_leaf
    (view * 3).sum().backward()
    assert view.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        view.add_(1)


@pytest.mark.parametrize("write", ["v.detach()[:1] = 0", "v.detach().view(aten.int32)[:1] = 0", "base.mul_(2)", "x.data.mul_(2)"])
@pytest.mark.parametrize("view", ["x.unsqueeze(0)", "x.as_strided((1, 3, 2), (6, 1, 3))", "x.t()[1:]"])
def test_views_of_a_leaf_that_is_a_view_keep_their_history_where_what_was_written_has_none(view, write):
    base = aten.arange(6.0)
    x = base.as_strided((3, 2), (1, 3)).requires_grad_()
    names = {"x": x, "base": base, "aten": aten}
    v = names["v"] = eval(view, names)
    exec(write, names)
    (g,) = aten.autograd.grad((v * 3).sum(), x)
    assert g.sum().item() == 3 * v.numel() and v.grad_fn is not None


def test_views_of_a_leaf_that_is_a_view_take_the_history_that_its_root_is_given():
    base, y = aten.arange(4.0), leaf(1.0)
    x = base.view(2, 2).requires_grad_()
    v = x[0]
    base.mul_(y)
    gx, gy = aten.autograd.grad(v.sum(), [x, y], allow_unused=True)
    assert gx is None and gy.tolist() == [1]


def test_what_backward_needs_must_not_change():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*is a saved value of ExpBackward0, is at "
                                           "version 1"):
        y.sum().backward()
    with aten.no_grad():
        x.add_(1)
    z = x * x
    with aten.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    z = x * x
    x.data.mul_(2)                              # unseen
    z.sum().backward()


def test_refused():
    x = leaf(1.0, 2.0)
    for write in (lambda: x.add_(1), lambda: x[0].mul_(2), lambda: x.zero_()):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place "
                                               "operation"):
            write()
    with pytest.raises(RuntimeError, match="more than one element"):
        aten.zeros(1).expand(3).add_(1)
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        tensor([1, 2]).add_(1.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        aten.zeros(3).add_(aten.zeros(2, 3))


def test_custom_functions():
    class Scale(aten.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x * factor, (x > 0)

        @staticmethod
        def backward(ctx, g, _):
            (x,) = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return g * ctx.factor + 0 * x, None

    x = leaf(1.0, -2.0)
    y, mask = Scale.apply(x, 3.0)
    assert y.grad_fn.name() == "ScaleBackward" and mask.tolist() == [True, False] and not mask.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()

    class Double(aten.autograd.Function):
        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g * 2

    z = x.detach().requires_grad_() * 1
    start = z.grad_fn.next_functions[0][0].variable
    w = Double.apply(z)
    assert w is z and w.grad_fn.name() == "DoubleBackward"
    w.sum().backward()
    assert start.grad.tolist() == [2, 2]

    class Wrong(Scale):
        @staticmethod
        def backward(ctx, g, _):
            return g

    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Wrong.apply(x, 2.0)[0].sum().backward()


def test_double_backward_through_a_function_and_once_differentiable():
    class Cube(aten.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = leaf(2.0)
    (g,) = aten.autograd.grad(Cube.apply(x), x, create_graph=True)
    (h,) = aten.autograd.grad(g, x)
    assert g.item() == 12 and h.item() == 12

    class Once(Cube):
        backward = staticmethod(aten.autograd.once_differentiable(Cube.backward))

    (g,) = aten.autograd.grad(Once.apply(x), x, tensor([1.0], requires_grad=True), create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.backward()


def test_copy_takes_a_number():
    assert aten.zeros(3, dtype=aten.int64).copy_(2.7).tolist() == [2, 2, 2]
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[1:].copy_(5)
    (g,) = aten.autograd.grad(y.sum(), x)
    assert y.tolist() == [2, 5, 5] and g.tolist() == [2, 0, 0]
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        y.copy_([1, 2, 3])
