"""__torch_function__ on duck types and subclasses, modes, __torch_dispatch__ below autograd."""

import operator

import pytest

import weft
from weft import overrides
from weft.utils._python_dispatch import TorchDispatchMode


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return (func.__name__, types, len(args)) if func is not weft.mul else NotImplemented


class Sub(weft.Tensor):
    pass


class Wrapper(weft.Tensor):
    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = weft.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=requires_grad)
        made.inner = inner
        made.seen = []
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen = next(a.seen for a in args if isinstance(a, cls))
        seen.append(func.__name__)
        result = func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))
        made = cls(result)
        made.seen = seen
        return made


def test_an_object_takes_calls():
    assert weft.add(Duck(), weft.ones(2)) == ("add", (Duck,), 2)
    assert weft.cat([weft.ones(1), Duck()]) == ("cat", (Duck,), 1)
    with pytest.raises(TypeError, match="no implementation found"):
        weft.mul(Duck(), 1)
    assert overrides.is_tensor_like(Duck()) and overrides.has_torch_function((1, Duck()))
    assert not overrides.has_torch_function((weft.ones(1),))


def test_results_of_a_subclass_are_of_it():
    x = weft.ones(3).as_subclass(Sub)
    assert type(x + 1) is Sub and type(2 * x) is Sub and type(x.sum()) is Sub and type(x.sort()[0]) is Sub
    with overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is weft.Tensor
    w = weft.ones(2, requires_grad=True)
    (w * 3).as_subclass(Sub).sum().backward()
    assert w.grad.tolist() == [3, 3]


def test_a_library_asks_for_itself():
    def mean(x):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(mean, (x,), x)
        return x.mean()

    assert mean(Duck())[0] == "mean" and mean(weft.ones(2)).item() == 1


def test_a_mode_sees_calls():
    class Log(overrides.TorchFunctionMode):
        def __init__(self):
            self.names = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Log() as log:
        assert (weft.ones(2) + 1).tolist() == [2, 2]
    assert log.names[:2] == ["ones", "add"]
    seen = len(log.names)
    assert (weft.ones(2) + 1).tolist() == [2, 2] and len(log.names) == seen


def test_a_wrapper_is_below_autograd():
    x = Wrapper(weft.tensor([1.0, 2.0]), requires_grad=True)
    y = (x * x).sum()
    assert type(y) is Wrapper and y.inner.item() == 5 and x.seen[:2] == ["mul.Tensor", "sum.default"]
    y.backward(Wrapper(weft.tensor(1.0)))
    assert x.grad.inner.tolist() == [2, 4]


def test_operators_ask_a_class_that_is_no_tensor():
    x, duck = weft.ones(2), Duck()
    for made in (x + duck, duck + x, x == duck, duck < x, x @ duck, x**duck, x.__and__(duck), operator.iadd(x, duck)):
        assert made[1:] == ((Duck,), 2)
    assert (x != duck)[0] == "ne"
    with pytest.raises(TypeError, match="no implementation found"):
        x * duck


def test_a_dispatch_mode_sees_core_ops():
    class Count(TorchDispatchMode):
        def __init__(self):
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = weft.ones(2, 2, requires_grad=True)
    with Count() as count:
        weft.nn.functional.softplus(x.exp()).sum().backward()
    assert "exp.default" in count.names and "sum.default" in count.names and x.grad is not None
