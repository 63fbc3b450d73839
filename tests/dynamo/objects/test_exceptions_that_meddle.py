"""Exceptions whose classes say what happens where attributes are read and set, or have others under the names of those of C: what
compiled code does to an exception (its traceback, its context) runs none of that, as what Python does to one runs none."""

import traceback

import pytest

import weft

unseen = weft._dynamo.disable(lambda: None)
MEMBERS = {name: BaseException.__dict__[name] for name in ("__traceback__", "__context__", "__cause__", "args")}


class Refuses(ValueError):
    def __setattr__(self, name, value):
        raise RuntimeError(f"set {name}")

    def __getattribute__(self, name):
        raise RuntimeError(f"get {name}")


class Listed(ValueError):
    def __setattr__(self, name, value):
        super().__setattr__(name, [value])


class Computed(ValueError):
    __traceback__ = __context__ = __cause__ = property(lambda self: 5)


class Covered(ValueError):
    __traceback__ = __context__ = None


class OtherArguments(ValueError):
    args = property(lambda self: ("own",))

    def __init__(self, *args):
        MEMBERS["args"].__set__(self, (1, *args))


def raised(e):
    raise e


def behind_a_break(cls):
    def f(x):
        unseen()
        raise cls("a")

    return f


def raised_again(cls):
    def f(x):
        try:
            raise cls("a")
        except ValueError:
            unseen()
            raise

    return f


def raised_while_another_is_handled(cls):
    def f(x):
        try:
            try:
                raise KeyError("b")
            except KeyError:
                raise cls("a")  # noqa: B904 (its context is asked about)
        except ValueError:
            unseen()
            raise

    return f


def returned(cls):
    def f(x):
        e = cls("a")
        try:
            try:
                raise KeyError("b")
            except KeyError:
                raised(e)
        except ValueError:
            pass
        return x + 1, e

    return f


def with_a_cause(cls):
    def f(x):
        try:
            try:
                raise KeyError("b")
            except KeyError as k:
                raise cls("a") from k
        except ValueError as e:
            return x + 1, e

    return f


def from_outside(cls):
    e = cls("outside")

    def f(x):
        try:
            try:
                raise KeyError("b")
            except KeyError:
                raised(e)
        except ValueError:
            pass
        unseen()
        return x + 1, e

    return f


def through_two_functions(cls):
    inner = behind_a_break(cls)

    def f(x):
        try:
            inner(x)
        finally:
            unseen()

    return f


def shown(f) -> list:
    """What exception each of three calls raises or returns, and what C keeps in it."""
    found = []
    for _ in range(3):
        try:
            e = f(weft.ones(2))[1]
        except Exception as caught:
            e = caught
        trace, context, cause, args = (member.__get__(e) for member in MEMBERS.values())
        lines = [(at.name, at.lineno) for at in traceback.extract_tb(trace) if at.name != "shown"]
        found.append((type(e), lines, type(context), type(cause), args))
    return found


@pytest.mark.parametrize("cls", [Refuses, Listed, Computed, Covered, OtherArguments])
@pytest.mark.parametrize("make", [
    behind_a_break, raised_again, raised_while_another_is_handled, returned, with_a_cause, from_outside, through_two_functions,
])  # fmt: skip
def test_compiled_is_plain(make, cls):
    assert shown(weft.compile(make(cls), backend="eager")) == shown(make(cls))
