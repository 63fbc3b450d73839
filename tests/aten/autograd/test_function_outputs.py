"""autograd.Function: views written in place, outputs that are no tensors."""

import weft


class AddInto(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.add_(y)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, g * 2


def test_a_dirty_view_gives_its_base_the_history():
    a, b = weft.ones(4, 4, requires_grad=True), weft.ones(2, 2, requires_grad=True)
    x = a.clone()
    AddInto.apply(x[1:3, 2:], b)
    AddInto.apply(x[1:3, :2], b)
    x.sum().backward()
    assert a.grad.tolist() == [[1.0] * 4] * 4
    assert b.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_gradients_come_for_every_output_none_for_what_is_no_tensor():
    seen = []

    class Mixed(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return "name", x * 2, 3, x * 5

        @staticmethod
        def backward(ctx, *grads):
            seen.extend(grads)
            return grads[1] * 2 + grads[3] * 5

    x = weft.ones(2, requires_grad=True)
    name, double, number, _ = Mixed.apply(x)
    assert (name, number) == ("name", 3)
    double.sum().backward()
    assert seen[0] is None and seen[2] is None
    assert seen[1].tolist() == [1.0, 1.0] and seen[3].tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [2.0, 2.0]
