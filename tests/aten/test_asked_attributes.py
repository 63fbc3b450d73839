"""Classes with a `__torch_function__` of their own are asked about attributes and native methods of Tensor."""

import pytest

import weft

seen = []


class Told(weft.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


def told():
    return weft.arange(4.0).reshape(2, 2).as_subclass(Told)


ATTRIBUTES = ["shape", "dtype", "device", "ndim", "requires_grad", "grad", "data", "is_leaf", "T", "mT", "real", "layout"]
METHODS = ["size", "stride", "dim", "numel", "is_contiguous", "detach", "tolist", "element_size", "data_ptr", "__len__", "__repr__"]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_asked(name):
    x = told()
    seen.clear()
    value = getattr(x, name)
    assert seen[0] == getattr(weft.Tensor, name).__get__
    assert seen[0] != weft.Tensor.itemsize.__get__
    expected = getattr(weft.arange(4.0).reshape(2, 2), name)
    assert (value == expected).all() if isinstance(value, weft.Tensor) else value == expected


@pytest.mark.parametrize("name", METHODS)
def test_native_methods_are_asked_once(name):
    x = told()
    seen.clear()
    getattr(x, name)()
    assert seen == [getattr(weft.Tensor, name)]


def test_setting_and_indexing_are_asked():
    x = told()
    seen.clear()
    x.requires_grad = True
    x.grad = weft.ones(2, 2)
    y = x.detach().clone()
    y[0] = y[1]
    assert seen[0] == weft.Tensor.requires_grad.__set__ and seen[1] == weft.Tensor.grad.__set__
    assert weft.Tensor.__getitem__ in seen and weft.Tensor.__setitem__ in seen


def test_an_answer_replaces_the_attribute():
    class Ten(weft.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func == weft.Tensor.ndim.__get__:
                return 10
            return super().__torch_function__(func, types, args, kwargs or {})

    x = weft.ones(2, 2).as_subclass(Ten)
    assert x.ndim == 10 and x.shape == (2, 2) and weft.Tensor.ndim.__get__(x) == 2

    def f(x):
        return x.ndim + weft.ones(2), x.dim(), x.T

    for result in (f(x), weft.compile(f, fullgraph=True, backend="eager")(x)):
        assert result[0].tolist() == [11.0, 11.0] and result[1] == 2 and type(result[2]) is Ten


def test_the_gradient_stays_what_it_is():
    x = told().requires_grad_()
    (x * 2).sum().backward()
    assert type(x.grad) is Told or type(x.grad) is weft.Tensor
    assert x.grad is x.grad


def test_nobody_is_asked_within_the_switch_or_of_a_class_that_does_not_override():
    class Plain(weft.Tensor):
        pass

    class Back(Told):
        __torch_function__ = weft._C._disabled_torch_function_impl

    seen.clear()
    with weft._C.DisableTorchFunctionSubclass():
        assert told().shape == (2, 2)
    assert weft.ones(2).as_subclass(Plain).shape == (2,) and "shape" not in Plain.__dict__
    assert weft.ones(3).as_subclass(Back).shape == (3,) and len(weft.ones(3).as_subclass(Back)) == 3
    assert seen == []


def test_captured_attributes_are_asked_in_order():
    def f(x):
        return x.shape[0] + x.sum(), x[0], x.size(), len(x), x.real, x.requires_grad

    seen.clear()
    f(told())
    plain = list(seen)
    seen.clear()
    compiled = weft.compile(f, backend="eager")
    compiled(told())
    assert seen == plain
