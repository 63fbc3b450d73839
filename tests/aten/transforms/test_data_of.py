"""`.data` within function transforms: cut from the history of the innermost one alone. The numbers are PyTorch's (2.13)."""

import numpy as np
import pytest

import weft
from aten.autograd import forward_ad
from weft.func import grad, jvp, vmap


def written(x):
    y = x * x
    y.data.mul_(3)
    return (y * y).sum()


def read(x):
    y = x * x
    return (y * y.data).sum()


def added(x):
    y = x * x
    z = y.data
    z += x.data
    return (y * z * x).sum()


CASES = {written: (96, 144, 144, 288), read: (16, 24, 24, 48), added: (84, 148, 194, 296)}


def transformed(f):
    second = grad(lambda x: grad(f)(x).sum())
    third = grad(lambda x: second(x).sum())
    return [grad(f), second, third, lambda x: jvp(grad(f), (x,), (x,))[1]]


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("f", CASES)
def test_the_transforms_around_keep_their_history(f, backend):
    weft._dynamo.reset()
    x = weft.full((3,), 2.0)
    for g, expected in zip(transformed(f), CASES[f]):
        g = g if backend is None else weft.compile(g, backend=backend, fullgraph=True)
        assert g(x).tolist() == [expected] * 3


def test_by_element_it_is_the_same_and_writing_data_itself_is_refused():
    x = weft.full((3, 1), 2.0)
    assert vmap(grad(written))(x).tolist() == [[96.0]] * 3

    def assigned(x):
        x.data = x * 2
        return x.sum()

    with pytest.raises(RuntimeError, match="mutating directly with `.data` inside functorch transform is not allowed"):
        grad(assigned)(x)


def test_duals_are_arrays_but_values_of_transforms_are_not():
    x = weft.tensor([1.0, 2.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, weft.ones(2)) * 2
        assert dual.numpy().tolist() == np.asarray(dual).tolist() == [2.0, 4.0]
        assert np.asarray(dual, dtype="f8").dtype == np.float64
    for transform in (weft.vmap, lambda f: lambda x: weft.func.jvp(f, (x,), (x,))):
        for array in (lambda x: x.numpy(), np.asarray):
            with pytest.raises(RuntimeError):
                transform(array)(x)
