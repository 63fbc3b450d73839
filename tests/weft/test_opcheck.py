"""opcheck finds what a custom op says of itself and does not do."""

import numpy as np
import pytest

import weft
from weft import Tensor
from weft.library import custom_op, opcheck
from weft.opcheck import OpCheckError


@custom_op("opcheck::sine", mutates_args=())
def sine(x: Tensor, width: float) -> Tensor:
    return weft.from_numpy(np.sin(x.detach().numpy()) * np.float32(width))


@sine.register_fake
def _(x, width):
    return weft.empty_like(x)


def _setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.width = inputs[1]


sine.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.width, None), setup_context=_setup)


def broken(name, function, fake=lambda x: weft.empty_like(x)):
    op = custom_op(f"opcheck::{name}", function, mutates_args=())
    if fake is not None:
        op.register_fake(fake)
    return op


def clones(x: Tensor) -> Tensor:
    return x.detach().clone()


def writes(x: Tensor) -> Tensor:
    x.add_(1)
    return x.clone()


def gives_itself(x: Tensor) -> Tensor:
    return x


def test_an_op_that_keeps_its_word():
    x = weft.randn(3, requires_grad=True)
    assert set(opcheck(sine, (x, 2.0)).values()) == {"SUCCESS"} and x.grad is None


@pytest.mark.parametrize("op,message", [
    (broken("writes", writes), "test_schema failed with Argument x is not defined as mutable"),
    (broken("itself", gives_itself), "test_schema failed .* must not also be an input to this custom operator"),
    (broken("longer", clones, lambda x: x.new_empty(x.shape[0] + 1)), "test_faketensor failed .* Shapes"),
    (broken("unknown", clones, None), "test_faketensor failed .* no fake impl"),
])  # fmt: skip
def test_ops_that_do_not(op, message):
    with pytest.raises(OpCheckError, match=message):
        opcheck(op, (weft.randn(3),))
    found = opcheck(op, (weft.randn(3),), raise_exception=False, test_utils=("test_schema", "test_faketensor"))
    wrong = 2 if op.name == "opcheck::itself" else 1  # (which does not run at all)
    assert sum(value != "SUCCESS" for value in found.values()) == wrong


def test_a_derivative_that_is_missing():
    op = broken("flat", clones)
    with pytest.raises(OpCheckError, match="test_autograd_registration failed"):
        opcheck(op, (weft.randn(3, requires_grad=True),))
    with pytest.raises(ValueError, match="expected test_utils"):
        opcheck(op, (weft.randn(3),), test_utils="test_speed")
