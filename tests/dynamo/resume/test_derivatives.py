"""autograd.Function and function transforms inside of compiled functions: a clean break, results and gradients as eager."""

import pytest

import weft


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()
    yield
    weft.compiler.reset()


class Clipped(weft.autograd.Function):
    """x * x, whose gradient is clipped: not what its forward would give."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g * 2 * x).clamp(-1, 1)


def through_a_function(x):
    return (Clipped.apply(x * 3) + x).sum()


def through_grad(x):
    return weft.func.grad(lambda y: (y * y * y).sum())(x) + x


def through_vmap(x):
    return weft.func.vmap(lambda row: row.softmax(0) * row)(x.reshape(2, 2)).sum() + x.sum()


@pytest.mark.parametrize("f", [through_a_function, through_grad, through_vmap], ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_results_and_gradients_are_those_of_eager(f, backend):
    compiled = weft.compile(f, backend=backend)
    for _ in range(2):
        x, y = (weft.tensor([-2.0, -0.1, 0.2, 3.0], requires_grad=True) for _ in range(2))
        got, want = compiled(x), f(y)
        weft.testing.assert_close(got, want)
        got.sum().backward()
        want.sum().backward()
        weft.testing.assert_close(x.grad, y.grad)


def test_the_break_says_what_it_is():
    class Writes(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            return x.mul_(2), y * 2

        @staticmethod
        def backward(ctx, g, h):
            return None, 2 * h

    with pytest.raises(RuntimeError, match="mul_ writes into a tensor from outside"):
        weft.compile(lambda x, y: Writes.apply(x, y)[0], fullgraph=True)(weft.ones(4), weft.ones(4, requires_grad=True))
