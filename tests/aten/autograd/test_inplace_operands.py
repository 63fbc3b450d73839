"""Whatever tensor an in-place op takes beside its target gives the target its history, also where a number might stand."""

import pytest

import weft
from weft.nn import functional as F

MASK = weft.tensor([True, False, True])

# (call, slope of the sum of (i + 1) * x[i]): PyTorch 2.13, of ones times 1.5 and 2
CALLS = [
    (lambda x, v: x.masked_fill_(MASK, v), 4.0),
    (lambda x, v: x.lerp_(weft.zeros(3), v), -9.0),
    (lambda x, v: x.clamp_min_(v), 6.0),
    (lambda x, v: x.clamp_(v), 6.0),
    (lambda x, v: x.clamp_(max=v), 0.0),
    (lambda x, v: x.fill_(v), 6.0),
    (lambda x, v: x.index_fill_(0, weft.tensor([0]), v), 1.0),
    (lambda x, v: x.true_divide_(v), -2.25),
    (lambda x, v: x.xlogy_(v), 4.5),
    (lambda x, v: x.index_put_((weft.tensor([0]),), v), 1.0),
]


@pytest.mark.parametrize("i", range(len(CALLS)))
def test_the_operand_gets_its_gradient(i):
    call, expected = CALLS[i]
    v = weft.tensor(2.0, requires_grad=True)
    x = call(weft.full((3,), 1.5), v)
    (x * weft.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert v.grad.item() == pytest.approx(expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, v: weft.add(x, x, alpha=v),
        lambda x, v: F.leaky_relu(x, v),
        lambda x, v: F.pad(x, (1, 1), value=v),
        lambda x, v: weft.addcmul(x, x, x, value=v),
        lambda x, v: x.new_full((2,), v),
    ],
)
def test_a_tensor_that_requires_grad_is_no_number(call):
    x, v = weft.ones(3), weft.tensor(2.0)
    call(x, v)
    with pytest.raises(TypeError):
        call(x, v.requires_grad_())
