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


class Named(weft.Tensor):
    """Answers with the function that was called."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise LookupError(func)


IMAGE, PLACES, ROWS = weft.rand(1, 1, 4, 4), weft.zeros(1, 2, 2, 2), weft.tensor([[0, 1]])
BY_THEIR_OWN_NAME = {
    "relu": (IMAGE,),
    "silu": (IMAGE,),
    "selu": (IMAGE,),
    "celu": (IMAGE,),
    "rrelu_": (IMAGE,),
    "softmax": (IMAGE, 1),
    "log_softmax": (IMAGE, 1),
    "softmin": (IMAGE, 1),
    "gumbel_softmax": (IMAGE,),
    "normalize": (IMAGE,),
    "grid_sample": (IMAGE, PLACES),
    "affine_grid": (weft.rand(1, 2, 3), (1, 1, 2, 2)),
    "embedding": (ROWS, IMAGE[0, 0]),
    "embedding_bag": (ROWS, IMAGE[0, 0]),
    "binary_cross_entropy": (IMAGE, IMAGE),
    "max_pool2d_with_indices": (IMAGE, 2),
    "dropout": (IMAGE,),
    "gelu": (IMAGE,),
}


@pytest.mark.parametrize("name", BY_THEIR_OWN_NAME)
def test_functions_of_nn_hand_themselves_over(name):
    function = getattr(weft.nn.functional, name)
    args = BY_THEIR_OWN_NAME[name]
    for i, arg in enumerate(args):
        if isinstance(arg, weft.Tensor):
            with pytest.raises(LookupError) as raised:
                function(*args[:i], arg.as_subclass(Named), *args[i + 1 :])
            assert raised.value.args[0] is function


@pytest.mark.parametrize("compiled", [False, True])
def test_a_table_of_functions_of_nn(compiled):
    F = weft.nn.functional
    table = {F.relu: lambda x: x.as_subclass(weft.Tensor) * 10}

    class Tabled(weft.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in table:
                return table[func](*args)
            return super().__torch_function__(func, types, args, kwargs or {})

    f = lambda x: (F.relu(x), F.softmax(x * 0, 0))
    found = (weft.compile(f, fullgraph=True) if compiled else f)(weft.tensor([-1.0, 2.0]).as_subclass(Tabled))
    assert [t.tolist() for t in found] == [[-10.0, 20.0], [0.5, 0.5]] and type(found[1]) is Tabled
    parameter = weft.nn.Parameter(weft.tensor([-1.0, 2.0]))
    g = lambda: F.relu(parameter) + (1 if weft.overrides.has_torch_function((parameter, 3)) else 0)
    assert (weft.compile(g, fullgraph=True) if compiled else g)().tolist() == [0.0, 2.0]
