"""Exceptions as objects: their constructors, members, text, attributes, and what comes out of a frame."""

import dataclasses
import traceback

import pytest

import weft
from tests.dynamo.objects.twice import check, listed

PROGRAMS: list = []
program = listed(PROGRAMS)


def x():
    return weft.arange(4.0)


class Coded(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Shown(Exception):
    def __init__(self, n):
        self.n = n

    def __str__(self):
        return f"<{self.n}>"

    def __repr__(self):
        return f"Shown[{self.n}]"


def attempt(v, k):
    if k:
        raise Coded(k, "m")
    return v


@program
def a_constructor_of_its_own(C):
    def f(v):
        try:
            attempt(v, 3)
        except Coded as e:
            kept = e
            return v * e.code, kept, e.args, str(e), repr(e)

    y, e, *rest = C(f)(x())
    return y, type(e), e.code, e.args, str(e), rest


@program
def handled_across_a_break(C):
    def f(v):
        try:
            attempt(v, 3)
        except Coded as e:
            print(end="")
            return v * e.code, str(e), e.args

    return C(f)(x())


@program
def stored_in_a_list(C):
    errors = []

    def f(v):
        for k in range(3):
            try:
                attempt(v, k)
            except Coded as e:
                e.tag = k
                errors.append(e)
        return v + len(errors)

    y = C(f)(x())
    functions = [[step.name for step in traceback.extract_tb(e.__traceback__)] for e in errors]
    return y, [(e.code, e.args, e.tag, e.__context__) for e in errors], functions


@program
def text_of_their_own(C):
    def f(v):
        e = Shown(7)
        return v, str(e), repr(e), f"{e}", e.args, [e].__repr__(), str(ValueError(e))

    return C(f)(x())


@program
def what_c_makes_of_the_arguments(C):
    def f(v):
        out = []
        for e in (
            OSError(2, "none", "file"),
            OSError("text"),
            KeyError("k"),
            KeyError(1, 2),
            StopIteration(5),
            SystemExit(3),
            ValueError(),
            ImportError("m", name="n", path="p"),
            UnicodeDecodeError("utf8", b"ab", 0, 1, "why"),
            AttributeError("a", name="b"),
        ):
            out.append((type(e).__name__, str(e), repr(e), e.args))
        e = OSError(2, "none", "file")
        return v, out, e.errno, e.strerror, e.filename, isinstance(e, FileNotFoundError), StopIteration(5).value

    return C(f)(x())


@program
def members_come_out(C):
    def f(v):
        first = OSError(13, "no", "path")
        second = ImportError("m", name="n")
        third = ValueError("a")
        third.args = ("b", v)
        third.add_note("note")
        return first, second, third

    a, b, c = C(f)(x())
    return type(a), a.errno, a.filename, b.name, b.msg, c.args, c.__notes__


@program
def subclasses_of_exceptions_of_c(C):
    class Missing(KeyError):
        def __init__(self, key, where):
            super().__init__(key)
            self.where = where

    class Failed(OSError):
        level = 2

    class Plain(ValueError):
        pass

    @dataclasses.dataclass
    class Detailed(Exception):
        a: int
        b: str = "x"

    def f(v):
        out = []
        for e in (Missing("k", "there"), Failed(2, "no"), Plain("a", 1), Detailed(1)):
            out.append((str(e), repr(e), e.args))
        return v, out, Missing("k", "w").where, Failed(1, "n").errno, Detailed(3).b, Failed(1, "n"), Detailed(2)

    y, out, where, errno, b, failed, detailed = C(f)(x())
    return y, out, where, errno, b, failed.errno, failed.args, detailed.a, detailed.args


@program
def causes_and_contexts(C):
    def f(v):
        try:
            try:
                attempt(v, 1)
            except Coded as e:
                raise ValueError("outer") from e
        except ValueError as e:
            kept = e
        return v, kept

    y, e = C(f)(x())
    return y, type(e.__cause__), e.__cause__.code, e.__suppress_context__, e.__context__ is e.__cause__


@program
def arguments_that_c_refuses(C):
    def f(v):
        out = []
        for make in (lambda: ValueError(a=1), lambda: Coded(1), lambda: Shown()):
            try:
                make()
            except TypeError as e:
                out.append(str(e))
        return v, out

    return C(f)(x())


@program
def raising_what_is_no_exception(C):
    def f(v, what):
        try:
            raise what
        except TypeError as e:
            return v, str(e)

    c = C(f)
    return c(x(), 3), c(x(), int)


@program
def an_exception_from_outside(C):
    e = Coded(4, "outside")

    def f(e, v):
        e.seen = True
        return v * e.code, str(e.args), e.args[0]

    return C(f)(e, x()), e.seen


@program
def a_new_that_makes_something_else(C):
    class Wrapped(Exception):
        def __new__(cls, *args):
            self = super().__new__(cls, *args)
            self.made = len(args)
            return self

    def f(v):
        e = Wrapped(1, 2)
        return v * e.made, e

    y, e = C(f)(x())
    return y, e.made, e.args


@program
def what_an_exit_is_given(C):
    seen = []

    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, cls, value, trace):
            seen.append((cls, value.code, trace is not None))
            return True

    def f(v):
        with Manager():
            attempt(v, 5)
        return v * 2

    return C(f)(x()), seen


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda p: p.__name__)
def test_compiled_is_plain(case):
    check(case)


def test_an_exception_from_outside_shows_afterwards_that_it_was_raised():
    def deep(e):
        raise e

    def f(x, e):
        try:
            raise KeyError(3)
        except KeyError:
            try:
                deep(e)
            except ValueError:
                x = x + 1
        return x * 2

    def seen(function):
        e = ValueError(1)
        assert function(weft.ones(2), e).tolist() == [4.0, 4.0]
        through = [s.name for s in traceback.extract_tb(e.__traceback__)]
        return type(e.__context__), e.__context__.args, through

    want = KeyError, (3,), ["f", "deep"]
    assert seen(f) == seen(weft.compile(f, backend="eager", fullgraph=True)) == want


class NotesOfTheClass(Exception):
    __notes__ = 48


class NotesThatAreRefused(Exception):
    def __getattr__(self, name):
        raise ValueError("no notes") if name == "__notes__" else AttributeError(name)


class Backwards(list):
    def append(self, item):
        self.insert(0, item)


@pytest.mark.parametrize("cls", [Exception, NotesOfTheClass, NotesThatAreRefused])
@pytest.mark.parametrize("notes", [None, "text", Backwards(["z"]), ("a",)])
def test_notes_are_an_attribute_like_others(cls, notes):
    def f(x):
        e, refused = cls("a"), []
        if notes is not None:
            e.__notes__ = notes if type(notes) is not Backwards else Backwards(["z"])
        for note in ("one", "two"):
            try:
                e.add_note(note)
            except (TypeError, ValueError) as error:
                refused.append((type(error), str(error)))
        return x + 1, refused, e.__dict__.get("__notes__")

    weft.compiler.reset()
    for _ in range(2):
        assert str(weft.compile(f)(weft.zeros(1))) == str(f(weft.zeros(1)))
