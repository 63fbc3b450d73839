"""Kernels over sizes that are symbols: conditions in 32 bits, divisors computed once, checks of one index."""

import numpy as np
import pytest

import dynamo
import weft
from weft.nn import functional as F

PROGRAMS = {
    "pad": lambda x: F.pad(x, (1, 2, 3, 4)).exp(),
    "flip and cat": lambda x: weft.cat([x.flip(1), x, x[:, :1]], 1).tanh(),
    "merged dims": lambda x: (x.permute(0, 2, 1) * 2).reshape(x.shape[0], -1).cumsum(-1),
    "windows": lambda x: F.pad(x, (0, -x.shape[2] % 4)).unflatten(2, (-1, 4)).transpose(1, 2).reshape(-1, 4).sin(),
    "a triangle": lambda x: x.triu(1) + x.tril(-2),
    "rolled": lambda x: x.roll((2, -3), (1, 2)) - x,
    "strided": lambda x: weft.cat([x[:, ::2], x[:, 1::3]], 1) * 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_symbolic_sizes_give_what_numbers_give(name):
    dynamo.reset()
    function = PROGRAMS[name]
    compiled = weft.compile(function, dynamic=True)
    for sizes in ((2, 7, 19), (3, 4, 64), (1, 5, 1), (4, 1, 33), (2, 3, 5)):
        x = weft.from_numpy(np.random.default_rng(0).standard_normal(sizes).astype(np.float32)).requires_grad_()
        y = x.detach().clone().requires_grad_()
        want, got = function(x), compiled(y)
        assert weft.allclose(want, got, rtol=1e-4, atol=1e-5) and want.stride() == got.stride()
        want.square().sum().backward()
        got.square().sum().backward()
        assert weft.allclose(x.grad, y.grad, rtol=1e-4, atol=1e-4)


def test_one_index_for_a_row_is_checked():
    table = weft.arange(12.0).reshape(6, 2)
    compiled = weft.compile(lambda i: F.embedding(i, table).mean(1), dynamic=True)
    for indices in ([[0, 5, 3]], [[1, 1], [4, 2]]):
        i = weft.tensor(indices)
        assert weft.equal(compiled(i), table[i].mean(1))
    for wrong in (6, -1):
        with pytest.raises(IndexError):
            compiled(weft.tensor([[0, wrong, 1]]))
