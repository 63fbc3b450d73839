"""Classes with a `__torch_dispatch__`: their own memory has no meaning, and is never read."""

import pytest

import weft


class Wrapper(weft.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return weft.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        result = func(*[a.inner if isinstance(a, Wrapper) else a for a in args], **(kwargs or {}))
        return Wrapper(result) if isinstance(result, weft.Tensor) else result


@pytest.fixture
def x():
    return Wrapper(weft.arange(4.0))


@pytest.mark.parametrize("read", [lambda x: x.numpy(), lambda x: x.tolist(), lambda x: x.__array__()])
def test_memory_is_refused(x, read):
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses, got Wrapper"):
        read(x)


def test_numbers_are_asked_for(x):
    assert x.sum().item() == 6.0 and float(x[2]) == 2.0 and int(x[3]) == 3 and bool(x[1]) and not bool(x[0])
    assert [10, 20][Wrapper(weft.tensor(1))] == 20 and complex(x[1]) == 1
    assert weft.equal(x, Wrapper(weft.arange(4.0))) and not weft.equal(x, Wrapper(weft.ones(4)))
    assert weft.allclose(x, Wrapper(weft.arange(4.0)))
    with pytest.raises(RuntimeError, match="4 elements cannot be converted to Scalar"):
        x.item()


def test_data_and_text(x):
    assert type(x.data) is Wrapper and x.data.inner.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert repr(x) == "Wrapper(..., size=(4,), dtype=weft.float32)"
