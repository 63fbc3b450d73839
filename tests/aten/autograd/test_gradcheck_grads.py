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
