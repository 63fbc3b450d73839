"""An autograd.Function whose backward gives what eager refuses: left to Python, which says so."""

import pytest

import weft


def function(gives):
    class Doubled(weft.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return gives(g)

    return Doubled


@pytest.mark.parametrize("gives", [lambda g: 2.0, lambda g: [g], lambda g: g.sum(), lambda g: (g, g)])
def test_wrong_gradients_are_not_captured(gives):
    weft._dynamo.reset()
    doubled = function(gives)
    f = weft.func.grad(lambda x: doubled.apply(x).sum())
    with pytest.raises(weft._dynamo.exc.Unsupported, match="whose backward gives"):
        weft.compile(f, backend="eager", fullgraph=True)(weft.ones(3))
    with pytest.raises(RuntimeError) as plain:
        f(weft.ones(3))
    with pytest.raises(RuntimeError) as compiled:
        weft.compile(f, backend="aot_eager")(weft.ones(3))
    assert str(compiled.value) == str(plain.value)


def test_a_gradient_that_is_broadcast_is():
    doubled = function(lambda g: g[None].expand(2, 3))
    f = weft.func.grad(lambda x: doubled.apply(x).sum())
    assert weft.compile(f, backend="eager", fullgraph=True)(weft.ones(3)).tolist() == f(weft.ones(3)).tolist() == [2, 2, 2]


class ProductAndSum(weft.autograd.Function):
    """Two results whose gradients may be None."""

    @staticmethod
    def forward(x, y):
        return x * y, x + y, (x > y).long()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[2])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, product, total, marked):
        x, y = ctx.saved_tensors
        assert marked is None
        found = (0, 0) if total is None else (total, total)
        return (found[0], found[1]) if product is None else (found[0] + product * y, found[1] + product * x)


@pytest.mark.parametrize("used", [lambda a, b: a, lambda a, b: b, lambda a, b: a * b])
def test_a_function_of_the_users_that_takes_no_gradient_for_some_results(used):
    def program(x, y):
        a, b, _ = ProductAndSum.apply(x, y)
        return used(a, b).sum()

    def gradients(f):
        x, y = (weft.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, -1.0]))
        f(x, y).backward()
        return x.grad, y.grad

    weft.testing.assert_close(gradients(weft.compile(program, fullgraph=True)), gradients(program))
