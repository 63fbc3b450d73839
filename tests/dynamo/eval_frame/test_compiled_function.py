"""Compiled functions as Python objects: calls of every form, methods, attributes."""

import inspect
import types
import weakref

import pytest

from dynamo import _eval_frame, eval_frame
from dynamo._eval_frame import CompiledFunction, Entry
from dynamo.guard_program import GuardCompiler
from tests.dynamo.eval_frame.toy import CONFIG, swapping


def test_every_form_of_call_reaches_the_new_code(toy):
    compiler = toy(swapping)

    def f(a, b=2, *rest, c=3, **more):
        return "eager", a, b, rest, c, more

    g = CompiledFunction(f, CONFIG)
    assert g(1) == ("compiled", 1, 2, (), 3, {})
    assert g(1, 5, 6, 7, c=8, d=9) == ("compiled", 1, 5, (6, 7), 8, {"d": 9})
    assert g(*[1], **{"b": 4}) == ("compiled", 1, 4, (), 3, {})
    assert compiler.asked == [("f", {"a": 1, "b": 2, "c": 3, "rest": (), "more": {}})]
    assert f(1)[0] == "eager"
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        g()

    def plain(a, b):
        return "eager", a, b

    h = CompiledFunction(plain, CONFIG)
    assert h(1, 2) == ("compiled", 1, 2) and h(1, b=2) == ("compiled", 1, 2) and h(b=3, a=2) == ("compiled", 2, 3)
    assert [name for name, _ in compiler.asked] == ["f", "plain"]


def test_methods_and_attributes(toy):
    toy(swapping)

    class A:
        def method(self, x=1):
            """A docstring."""
            return "eager", self.n, x

        method = CompiledFunction(method, CONFIG)

    a = A()
    a.n = 5
    assert a.method() == ("compiled", 5, 1)
    assert a.method(3) == A.method(a, 3) == A.method(a, x=3) == ("compiled", 5, 3)
    assert isinstance(a.method, types.MethodType)
    f = A.method
    assert f.__name__ == "method" and f.__doc__ == "A docstring." and f.__qualname__.endswith("A.method")
    assert f.__module__ == __name__ and f.__defaults__ == (1,)
    assert str(inspect.signature(f)) == "(self, x=1)"
    f.note = "kept"
    assert f.note == "kept" and f.__dict__ == {"note": "kept"}
    with pytest.raises(AttributeError):
        f.missing  # noqa: B018
    assert weakref.ref(f)() is f and "A.method" in repr(f)


def test_the_code_of_the_function_may_be_exchanged(toy):
    toy(swapping)

    def f(x):
        return "eager"

    def other(x):
        return "eager", x

    g = CompiledFunction(f, CONFIG)
    assert g(1) == "compiled"
    f.__code__ = other.__code__
    assert g(1) == ("compiled", 1) and g(x=2) == ("compiled", 2)


def test_closures_of_one_code_share_an_entry(toy):
    compiler = toy(swapping)

    def make(n):
        def f(x):
            return "eager", n, x

        return f

    for n in range(4):
        g = CompiledFunction(make(n), CONFIG)
        assert g(1) == g(x=1) == ("compiled", n, 1)
    assert len(compiler.asked) == 1


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError):
        CompiledFunction(3, CONFIG)
    with pytest.raises(TypeError, match="either code or a result"):
        Entry(CONFIG, GuardCompiler(swapping.__code__, []).compile())
    with pytest.raises(TypeError):
        _eval_frame.skip("not code")
    with pytest.raises(TypeError, match="callable"):
        eval_frame.optimize(3, CONFIG)
