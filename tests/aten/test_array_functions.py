"""NumPy's functions on tensors, beside the same on arrays: they give tensors, with gradients."""

import numpy as np
import pytest

import weft

T = weft.arange(24.0).reshape(2, 3, 4)
FUNCTIONS = [
    lambda t: np.size(t),
    lambda t: np.size(t, 1),
    lambda t: np.flip(t),
    lambda t: np.flip(t, 1),
    lambda t: np.flip(t, (0, -1)),
    lambda t: np.moveaxis(t, 0, 2),
    lambda t: np.moveaxis(t, [0, 1], [-1, 0]),
    lambda t: np.rollaxis(t, 2),
    lambda t: np.rollaxis(t, 0, 3),
    lambda t: np.rollaxis(t, -1, -3),
    lambda t: np.std(t),
    lambda t: np.var(t, axis=1, ddof=1, keepdims=True),
    lambda t: np.sum(t, axis=(0, 1)),
    lambda t: np.shape(t),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_what_numpy_gives_of_an_array(function):
    found, expected = function(T), function(T.numpy())
    if isinstance(expected, (int, tuple)):
        assert found == expected
    else:
        assert type(found) is weft.Tensor and found.shape == expected.shape and np.allclose(found.numpy(), expected)


def test_gradients_go_through():
    x = T.clone().requires_grad_()
    (np.moveaxis(np.flip(x, 0), 0, 2) * weft.arange(2.0)).sum().backward()
    assert x.grad.tolist() == [[[1.0] * 4] * 3, [[0.0] * 4] * 3]


def test_arrays_and_other_classes_beside_tensors():
    class Other:
        def __array_function__(self, function, types, args, kwargs):
            return function, args

    other = Other()
    assert np.concatenate([T[0], T[1].numpy()]).shape == (6, 4)
    assert np.concatenate([T[0], other])[0] is np.concatenate
    with pytest.raises(TypeError):
        np.std(T, dtype=np.float64)
