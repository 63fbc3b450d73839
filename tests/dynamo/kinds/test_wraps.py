"""functools.wraps inside: the wrapper gets names, attributes and what else is asked for."""

import functools
import types

import pytest

import weft
from tests.dynamo.kinds.alike import alike


def attributes(x):
    def inner(v):
        "doc"
        return v + 1

    inner.tag = 3

    @functools.wraps(inner)
    def wrapper(*a):
        return inner(*a)

    return wrapper(x), wrapper.tag, wrapper.__dict__.get("tag"), wrapper.__wrapped__ is inner


def chosen_names(x):
    def inner(v: int):
        "doc"
        return v + 1

    @functools.wraps(inner, assigned=("__doc__",))
    def wrapper(*a):
        return inner(*a)

    return wrapper(x), wrapper.__name__, wrapper.__doc__


def by_keyword(x):
    def inner(v: int):
        return v + 1

    def wrapper(*a):
        return inner(*a)

    wrapper = functools.update_wrapper(wrapper, wrapped=inner, updated=())
    return wrapper(x), wrapper.__name__, wrapper.__annotations__


class Callable:
    def __call__(self, v):
        return v


def of_an_object(x):
    callable_ = Callable()
    callable_.key = 1

    @functools.wraps(callable_)
    def wrapper(*a):
        return a

    return x + 1, wrapper.key, wrapper.__name__


@pytest.mark.parametrize("f", [attributes, chosen_names, by_keyword, of_an_object], ids=lambda f: f.__name__)
def test_wrappers(f):
    alike(f, (weft.ones(2),), fullgraph=True)


def test_another_function_that_does_the_same(monkeypatch):
    compiled = weft.compile(attributes, backend="eager")
    compiled(weft.ones(2))
    f = functools.wraps
    monkeypatch.setattr(functools, "wraps", types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__))
    assert compiled(weft.ones(2))[1:] == (3, 3, True)
