"""Numbers before the tensors that they multiply, as calls of old have them."""

from __future__ import annotations

import warnings

import pytest

import weft
from aten import older_forms

X, Y, M = weft.tensor([1.0, 2.0]), weft.tensor([3.0, 5.0]), weft.tensor([[1.0, 2.0], [3.0, 4.0]])
FORMS = {  # values by hand
    "add": (lambda: weft.add(X, 2, Y), [7, 12]),
    "add_": (lambda: X.clone().add_(-0.5, Y), [-0.5, -0.5]),
    "sub": (lambda: X.sub(2, Y), [-5, -8]),
    "addcmul_": (lambda: X.clone().addcmul_(2, X, Y), [7, 22]),
    "addcdiv_": (lambda: X.clone().addcdiv_(-1, Y, X), [-2, -0.5]),
    "addcmul": (lambda: weft.addcmul(X, 2, X, Y), [7, 22]),
    "addmv": (lambda: weft.addmv(0.5, X, 2, M, Y), [26.5, 59]),
    "method addmv": (lambda: X.addmv(0.5, M, Y), [13.5, 30]),
    "addmm": (lambda: weft.addmm(0, M, 2, M, M), [[14, 20], [30, 44]]),
    "addmm of beta": (lambda: M.addmm(2, M, M), [[9, 14], [21, 30]]),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.filterwarnings("ignore:This overload of")
def test_the_number_is_the_factor(name, compiled):
    call, want = FORMS[name]
    assert (weft.compile(call, fullgraph=True) if compiled else call)().tolist() == want


def test_each_op_warns_once():
    older_forms._said.discard("add_")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X.clone().add_(2, Y).add_(2, Y)
    assert len(caught) == 1 and "This overload of add_ is deprecated" in str(caught[0].message)


def test_gradients_and_what_is_no_form():
    x = X.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weft.add(Y, 3, x).sum().backward()
    assert x.grad.tolist() == [3, 3]
    for call in (lambda: weft.add(X, Y, X), lambda: weft.mul(X, 2, Y), lambda: X.add_(2, Y, X)):
        with pytest.raises(TypeError, match="positional argument"):
            call()
