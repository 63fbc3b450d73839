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
