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
