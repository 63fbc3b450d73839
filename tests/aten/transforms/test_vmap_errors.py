"""What vmap says of dims that do not fit, and of functions that it cannot map: PyTorch's words."""

import re

import pytest

import weft
from weft.func import vmap

X = weft.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: vmap(weft.mul, (0,))(X, X), ValueError, "vmap(mul, in_dims=(0,), ...)(<inputs>): in_dims is not compatible"),
        (lambda: vmap(weft.mul, ((0, 0), 0))(X, X), ValueError, "in_dims is not compatible with the structure of `inputs`"),
        (lambda: vmap(weft.mul, "lol")(X, X), ValueError, "expected `in_dims` to be int or a (potentially nested) tuple"),
        (lambda: vmap(weft.mul, {0: 0})(X, X), ValueError, "expected `in_dims` to be int or a (potentially nested) tuple"),
        (lambda: vmap(weft.mul, (0, "lol"))(X, X), ValueError, "Got in_dim=lol for an input but in_dim must be either an integer"),
        (lambda: vmap(weft.mul, (0, 0))(X, 2), ValueError, "Got in_dim=0 for an input but the input is of type <class 'int'>"),
        (lambda: vmap(weft.mul, (3, 0))(X, X), ValueError, "Got in_dim=3 for some input, but that input is a Tensor of dim"),
        (lambda: vmap(weft.mul)(X, weft.ones(3, 3)), ValueError, "got sizes [2, 3] for the mapped dimension"),
        (lambda: vmap(weft.mul, (None, None))(X, X), ValueError, "Expected at least one Tensor to vmap over"),
        (lambda: vmap(weft.sin)(), ValueError, "vmap(sin)(<inputs>): got no inputs"),
        (lambda: vmap(weft.sin, 0, (0, 0))(X), ValueError, "out_dims is not compatible with the structure of `outputs`"),
        (lambda: vmap(weft.sin, 0, "lol")(X), ValueError, "`out_dims` must be an int, None or a python collection of ints"),
        (lambda: vmap(weft.sin, 0, 3)(X), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 3)"),
        (lambda: vmap(weft.sin, chunk_size=0)(X), ValueError, "chunk_size should be None or greater than 0. (got 0)"),
        (lambda: vmap(lambda x: 1.0)(X), ValueError, "`<lambda>` must only return Tensors, got type <class 'float'>"),
        (lambda: vmap(lambda x: None)(X), ValueError, "`<lambda>` must only return Tensors, got type <class 'NoneType'>"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
