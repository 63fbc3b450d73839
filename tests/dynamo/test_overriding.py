"""`__torch_function__` of classes and modes inside of compiled code, and tensors of subclasses."""

import pytest
from weft._dynamo.testing import CompileCounter

import weft
from weft.overrides import BaseTorchFunctionMode


class Plain(weft.Tensor):
    """Says nothing else than Tensor."""


class SinIsCos(weft.Tensor):
    tag = 7

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        func = weft.cos if func is weft.sin else func
        return super().__torch_function__(func, types, args, kwargs or {})

    def twice(self):
        return self + self


class Boxed:
    """No tensor: has one."""

    def __init__(self, tensor):
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        flat = [a.tensor if isinstance(a, Boxed) else a for a in args]
        return Boxed(func(*flat, **(kwargs or {})))


class MulIsAdd(BaseTorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        func = weft.add if func is weft.mul else func
        return super().__torch_function__(func, types, args, kwargs)


def both(f, *args, backend="eager"):
    """(plain, compiled whole)"""
    return f(*args), weft.compile(f, backend=backend, fullgraph=True)(*args)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("cls", [Plain, SinIsCos])
def test_results_are_of_the_subclass(cls, backend):
    x = weft.randn(3, 4).as_subclass(cls)
    for f in (lambda x: weft.sin(x) * 2, lambda x: x.sum(0).exp(), lambda x: x, lambda x: x[0]):
        expected, found = both(f, x, backend=backend)
        assert type(found) is type(expected) is cls
        weft.testing.assert_close(found.as_subclass(weft.Tensor), expected.as_subclass(weft.Tensor))


def test_parts_of_results_are_of_the_subclass():
    expected, found = both(lambda x: x.unbind(0), weft.randn(2, 3).as_subclass(Plain))
    assert [type(t) for t in found] == [type(t) for t in expected] == [Plain, Plain]


def test_what_the_class_has_besides():
    x = weft.randn(3).as_subclass(SinIsCos)
    expected, found = both(lambda x: (x.twice(), x.tag), x)
    weft.testing.assert_close(found[0].as_subclass(weft.Tensor), expected[0].as_subclass(weft.Tensor))
    assert found[1] == 7 and type(found[0]) is SinIsCos


@pytest.mark.parametrize("make", [lambda x: SinIsCos(x + 1), lambda x: (x + 1).as_subclass(SinIsCos)])
def test_subclasses_made_inside(make):
    expected, found = both(lambda x: make(x).sin(), weft.randn(3))
    assert type(found) is type(expected) is SinIsCos
    weft.testing.assert_close(found.as_subclass(weft.Tensor), expected.as_subclass(weft.Tensor))


def test_gradients_pass_through_subclasses():
    def loss(x):
        return (weft.sin(x.as_subclass(SinIsCos)) * 2).as_subclass(weft.Tensor).sum()

    grads = []
    for f in (loss, weft.compile(loss, backend="aot_eager", fullgraph=True)):
        x = weft.linspace(0, 1, 5, requires_grad=True)
        f(x).backward()
        grads.append(x.grad)
    weft.testing.assert_close(grads[1], grads[0])


def test_classes_that_are_no_tensors():
    expected, found = both(lambda b: weft.add(b, 1.0, alpha=2.0), Boxed(weft.ones(2)))
    weft.testing.assert_close(found.tensor, expected.tensor)


def test_a_call_that_nobody_takes_is_a_type_error():
    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    for f in (weft.sin, weft.compile(lambda x: weft.sin(x), backend="eager")):
        with pytest.raises(TypeError, match="no implementation found"):
            f(Refuses())


def test_a_tensor_in_place_of_one_of_a_subclass_is_compiled_anew():
    counter = CompileCounter()
    f = weft.compile(lambda x: weft.sin(x), backend=counter, fullgraph=True)
    x = weft.zeros(2)
    assert f(x.as_subclass(SinIsCos)).tolist() == [1.0, 1.0]
    assert f(x).tolist() == [0.0, 0.0]
    assert f(x.as_subclass(SinIsCos)).tolist() == [1.0, 1.0]
    assert counter.frame_count == 2


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_modes_opened_inside(backend):
    def f(x):
        with MulIsAdd():
            y = x * 3
        return y * 3

    expected, found = both(f, weft.ones(2), backend=backend)
    assert found.tolist() == expected.tolist() == [12.0, 12.0]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_modes_open_outside(backend):
    counter = []
    f = weft.compile(lambda x: (x * 3).exp().log().exp().log(), backend=lambda g, i: counter.append(g) or g.forward)
    f = f if backend == "eager" else weft.compile(lambda x: (x * 3).exp().log().exp().log())
    x = weft.ones(2)
    for expected in (3.0, 4.0, 3.0, 4.0):
        if expected == 4.0:
            with MulIsAdd():
                found = f(x)
        else:
            found = f(x)
        weft.testing.assert_close(found, weft.full((2,), expected))
    assert len(counter) in (0, 2)


def test_a_mode_left_open_is_open_afterwards():
    mode = MulIsAdd()

    def f(x):
        mode.__enter__()
        return x * 3

    found = weft.compile(f, backend="eager", fullgraph=True)(weft.ones(2))
    try:
        assert found.tolist() == [4.0, 4.0] and (weft.ones(2) * 3).tolist() == [4.0, 4.0]
    finally:
        mode.__exit__(None, None, None)
    assert weft._C._len_torch_function_stack() == 0


def test_a_break_inside_of_a_mode():
    def f(x):
        with MulIsAdd():
            y = x * 3
            weft._dynamo.graph_break()
            y = y * 3
        return y * 3

    assert weft.compile(f, backend="eager")(weft.ones(2)).tolist() == f(weft.ones(2)).tolist() == [21.0, 21.0]


def test_operators_of_tensors_ask_what_is_no_tensor():
    class Box:
        def __init__(self, tensor):
            self.tensor = tensor

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return Box(func(*[a.tensor if isinstance(a, Box) else a for a in args], **(kwargs or {})))

    def f(x, box):
        made = x + box, box - x, x == box, box != x, x < box, x @ box, box**x, x.__iadd__(box)
        return [m.tensor for m in made]

    x = weft.ones(2)
    wanted = f(x.clone(), Box(x * 3))
    got = weft.compile(f, backend="eager")(x.clone(), Box(x * 3))
    assert [t.tolist() for t in got] == [t.tolist() for t in wanted]
