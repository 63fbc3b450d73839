"""What only some Pythons have, or compile in their own way."""

import functools
import importlib
import operator
import sys

import pytest

import weft

SINCE_314 = pytest.mark.skipif(sys.version_info < (3, 14), reason="syntax of Python 3.14")


def made(text: str, **names):
    space = {"weft": weft, **names}
    exec(text, space)
    return space["f"]


@weft.compiler.disable
def note(value):
    return value


@SINCE_314
@pytest.mark.parametrize("breaks", (False, True))
def test_template_strings_are_made_by_python(breaks):
    text = 'def f(x, n):\n    y = x + 1\n    t = t"{note(n)!r:>{n}} and {n + 1:02} {n!s} or {n}"\n    return y * 2, t'
    f = made(text, note=note if breaks else int)
    y, t = weft.compile(f, backend="eager")(weft.ones(2), 3)
    want = f(weft.ones(2), 3)[1]
    assert y.tolist() == [4.0, 4.0] and type(t) is importlib.import_module("string.templatelib").Template
    assert t.strings == want.strings
    parts = [[(i.value, i.expression, i.conversion, i.format_spec) for i in each.interpolations] for each in (t, want)]
    assert parts[0] == parts[1]


def test_annotations_of_functions_made_inside():
    def f(x):
        def g(a: int, *, b: "float" = 2.0) -> list:
            return a + b

        return x + 1, g, g.__annotations__["a"]

    y, g, a = weft.compile(f, fullgraph=True)(weft.ones(2))
    assert g.__annotations__ == {"a": int, "b": "float", "return": list} and a is int and g(1) == 3.0

    def only_returned(x):
        n = 3

        def g(a: int = n) -> int:
            return a

        return x + 1, g

    y, g = weft.compile(only_returned, fullgraph=True)(weft.ones(2))
    assert g.__annotations__ == {"a": int, "return": int} and g() == 3


def test_docstrings_of_functions_made_inside():
    def f(x):
        def told():
            "Of the inner one."
            return "a text"

        def untold():
            return "a text"

        return x + 1, told.__doc__, untold.__doc__, (lambda: "a text").__doc__

    assert weft.compile(f, fullgraph=True)(weft.ones(2))[1:] == ("Of the inner one.", None, None)


def test_annotations_that_fail_fail_where_they_are_asked_for():
    def f(x):
        def g(a: int):
            return a

        g.__annotations__ = {"a": str}
        return x + 1, g

    assert weft.compile(f, fullgraph=True)(weft.ones(2))[1].__annotations__ == {"a": str}


def test_functions_of_generators_that_the_compiler_unrolls():
    def f(x, n):
        return x * any(i > n for i in range(4)) + all(i < n for i in range(4)), tuple(i * n for i in range(n))

    for n in (2, 9):
        got, want = weft.compile(f, fullgraph=True)(weft.ones(2), n), f(weft.ones(2), n)
        assert got[0].tolist() == want[0].tolist() and got[1] == want[1]


def test_code_that_goes_on_behind_a_break_has_no_docstring():
    def f(x, n):
        """Of the original."""
        return note(x + n), lambda: n

    x, g = weft.compile(f, backend="eager")(weft.ones(2), 1)
    assert x.tolist() == [2.0, 2.0] and g() == 1


class Manager:
    def __init__(self, log, swallow):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        return note(self)

    def __exit__(self, cls, value, trace):
        self.log.append(note(cls and cls.__name__))
        return self.swallow


@pytest.mark.parametrize("swallow", (False, True))
def test_breaks_while_with_statements_begin_and_end(swallow):
    def f(x, log):
        for i in range(3):
            with Manager(log, swallow) as m, Manager(log, False):
                x = x + len(m.log)
                if i == 1:
                    raise ValueError(i)
        return x

    def outcome(g):
        log = []
        try:
            return g(weft.ones(2), log).tolist(), log
        except ValueError as e:
            return e.args, log

    compiled = weft.compile(f, backend="eager")
    for _ in range(2):
        assert outcome(compiled) == outcome(f)


def test_what_is_no_context_manager_is_said_as_python_says_it():
    def f(x, m):
        y = x + 1
        try:
            with m:
                return y
        except TypeError as e:
            return str(e)

    class Half:
        def __enter__(self):
            return self

    class OtherHalf:
        def __exit__(self, *_):
            return False

    class Asynchronous:
        async def __aenter__(self):
            return self

        async def __aexit__(self, *_):
            return False

    for m in (1, Half(), OtherHalf(), Asynchronous(), weft.ones(1)):
        assert weft.compile(f, backend="eager")(weft.ones(2), m) == f(weft.ones(2), m)


@SINCE_314
def test_additions_to_the_libraries():
    def f(x):
        placed = functools.partial(lambda a, b, c: (a, b, c), functools.Placeholder, 2)
        told = []
        for wrong in (
            lambda: list(map(lambda a, b: a + b, [1, 2], [3], strict=True)),
            lambda: placed(),
            lambda: functools.partial(len, functools.Placeholder),
            lambda: functools.partial(len, k=functools.Placeholder),
        ):
            try:
                wrong()
            except (TypeError, ValueError) as e:
                told.append(str(e))
        added = list(map(lambda a, b: a + b, [1, 2], [3, 4], strict=True))
        return functools.reduce(lambda a, b: a * b, [3], initial=x), placed(1, 3), added, told, operator.is_none(x)

    got, want = weft.compile(f, fullgraph=True)(weft.ones(2)), f(weft.ones(2))
    assert got[0].tolist() == want[0].tolist() and got[1:] == want[1:]
