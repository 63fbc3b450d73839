"""Equality of what two runs gave: values of every kind, with their types, sizes and what autograd knows of them."""

import numpy as np

import weft


def same(a, b, tolerance: float = 1e-5, strides: bool = False) -> None:
    """Raises AssertionError where a and b differ; objects are compared by their attributes, functions not at all."""
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, weft.Tensor):
        assert a.dtype is b.dtype and tuple(a.shape) == tuple(b.shape) and a.requires_grad == b.requires_grad
        assert not strides or a.stride() == b.stride()
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)
    elif isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype and np.shape(a) == np.shape(b)
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y, tolerance, strides)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            same(a[k], b[k], tolerance, strides)
    elif isinstance(a, weft.nn.Module):
        same(dict(a.state_dict()), dict(b.state_dict()), tolerance, strides)
    elif hasattr(a, "__dict__") and not callable(a):
        same(vars(a), vars(b), tolerance, strides)
    elif not callable(a):
        assert a == b
