"""Exceptions that are raised again in the handler that has caught them, with a break while both are handled: the traceback has a
line for each `raise` of the exception, and none for a bare one."""

import traceback

import pytest

import weft

unseen = weft._dynamo.disable(lambda: None)


def bare(x):
    try:
        raise KeyError("a")
    except KeyError:
        try:
            raise
        finally:
            unseen()


def caught(x):
    try:
        raise KeyError("a")
    except KeyError:
        try:
            raise
        except KeyError:
            unseen()
            raise


def named(x):
    try:
        raise KeyError("a")
    except KeyError as e:
        try:
            raise e
        finally:
            unseen()


def below(e):
    raise e


def from_below(x):
    try:
        below(KeyError("a"))
    except KeyError as e:
        try:
            below(e)
        except KeyError:
            unseen()
            raise


def in_turn(x):
    try:
        raise KeyError("a")
    except KeyError as e:
        try:
            raise ValueError("b") from e
        except ValueError:
            try:
                raise e
            except KeyError:
                unseen()
                raise


def loop(x):
    e = KeyError("a")
    for _ in range(3):
        try:
            raise e
        except KeyError:
            x = x + 1
    try:
        raise e
    finally:
        unseen()


def in_turn_without_a_break(x):
    try:
        raise KeyError("a")
    except KeyError as e:
        try:
            raise ValueError("b")
        except ValueError as v:
            try:
                raise e
            except KeyError:
                assert v.__context__ is None and e.__context__ is v
                raise v  # noqa: B904


def given_another(x):
    try:
        raise KeyError("a")
    except KeyError as e:
        unseen()
        raise ValueError("b").with_traceback(e.__traceback__) from None


def given_none(x):
    try:
        raise KeyError("a")
    except KeyError as e:
        try:
            raise e.with_traceback(None)
        except KeyError:
            unseen()
            raise


@pytest.mark.parametrize(
    "f",
    [given_another, given_none, bare, caught, named, from_below, in_turn, in_turn_without_a_break, loop],
    ids=lambda f: f.__name__,
)
def test_a_line_for_each_raise(f):
    def told(g):
        with pytest.raises((KeyError, ValueError)) as e:
            g(weft.ones(2))
        at, lines = e.value, []
        while at is not None and len(lines) < 5:
            lines.append(
                [(s.name, s.lineno) for s in traceback.extract_tb(at.__traceback__) if s.filename == __file__ and s.name != "told"]
            )
            at = at.__context__
        return lines

    assert told(weft.compile(f, backend="eager")) == told(f)
