"""gradcheck runs the function as it will run: with gradients on."""

import pytest
from weft.autograd import gradcheck

import weft


@pytest.mark.parametrize("fast", [True, False])
def test_functions_that_register_hooks(fast):
    x = weft.ones(2, dtype=weft.float64, requires_grad=True)

    def wrong(x):
        y = x.clone()
        y.register_hook(lambda g: g + 1e-2)
        return y

    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(wrong, (x,), fast_mode=fast)


def test_of_complex_outputs_the_imaginary_part_is_named_first():
    def wrong(x):
        y = x * 1
        y.register_hook(lambda g: g + 0.01)
        return y

    with pytest.raises(RuntimeError, match="While considering the imaginary part of complex outputs only"):
        gradcheck(wrong, (weft.ones(2, dtype=weft.complex128, requires_grad=True),))


def test_a_wrong_jvp_is_named():
    class Wrong(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3

    x = weft.ones(2, dtype=weft.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(Wrong.apply, (x,), check_forward_ad=True)


@pytest.mark.parametrize("fast", [False, True])
def test_outputs_that_change_when_inputs_move(fast):
    x = weft.ones(1, dtype=weft.float64).requires_grad_()
    twice = lambda x: weft.cat([x, x]) if bool((x >= 1).all()) else x
    halved = lambda x: x.to(weft.float32) if bool((x >= 1).all()) else x
    for f, what in ((twice, "shape"), (halved, "dtype")):
        with pytest.raises(AssertionError, match=f"return outputs with the same {what} when inputs are perturbed"):
            gradcheck(f, (x,), fast_mode=fast)


def test_forward_mode_of_a_function_is_looked_at():
    counted = []

    class Scaled(weft.autograd.Function):
        wrong = None

        @staticmethod
        def forward(ctx, x, y):
            return x + 2 * y

        @staticmethod
        def jvp(ctx, a, b):
            counted.append((a, b))
            if Scaled.wrong == "undefined" and (a is None or b is None):
                return 5 * weft.ones(1, dtype=weft.float64)
            if Scaled.wrong == "random":
                weft.randn_like(a if b is None else b)
            return (0 if a is None else a) + (0 if b is None else 2 * b)

    class Unmaterialized(Scaled):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + 2 * y

    xs = [weft.ones(1, dtype=weft.float64, requires_grad=True) for _ in range(2)]
    options = {"check_forward_ad": True, "check_backward_ad": False}
    assert gradcheck(Scaled.apply, xs, **options, check_undefined_grad=False) and len(counted) == 2
    assert gradcheck(Scaled.apply, xs, **options) and len(counted) == 8
    assert gradcheck(Scaled.apply, xs, **options, check_undefined_grad=False, check_batched_forward_grad=True)
    Scaled.wrong = "undefined"
    with pytest.raises(RuntimeError):
        gradcheck(Unmaterialized.apply, xs, **options)
    Scaled.wrong = "random"
    with pytest.raises(RuntimeError, match="While computing batched gradients, got: vmap: "):
        gradcheck(Scaled.apply, xs, **options, check_batched_forward_grad=True)
