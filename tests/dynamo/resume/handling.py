"""Functions with graph breaks inside of except and finally blocks, where a frame goes on while it handles an exception."""

from __future__ import annotations

import sys

import weft

LOG: list = []


@weft.compiler.disable
def note(*what):
    """A break; notes what is being handled as well, innermost first."""
    e, names = sys.exc_info()[1], []
    while e is not None:
        names.append(repr(e))
        e = e.__context__
    LOG.append((*what, names))


def boom(k):
    if k:
        raise ValueError(k)


def handler(x, k):
    try:
        boom(k)
    except ValueError as e:
        x = x + 1
        note("handling", str(e))
        x = x * 2
        note("again")
        x = x - 3
    note("behind")
    return x * 2


def nested(x, k):
    try:
        boom(k)
    except ValueError:
        try:
            x = x + 1
            boom(k + 1)
        except ValueError as e:
            note("inner", repr(e))
            x = x * 2
        note("outer")
        x = x * 3
    note("behind")
    return x


def name_is_gone(x, k):
    try:
        boom(k)
    except ValueError as e:
        try:
            boom(2 * k + 1)
        except ValueError:
            note("inner")
        note("outer")
        x = x + len(repr(e))
    finally:
        note("finally")
    return x


def loop_in_finally(x, k):
    try:
        boom(k)
    finally:
        for i in range(3):
            try:
                x = x + i
            finally:
                note(i, x.sum().item())
    return x


def loop_around(x, k):
    for i in range(4):
        try:
            x = x * 2
            boom((i + k) % 2)
            x = x + 1
        except ValueError:
            x = x - 1
            if i == 0:
                note("continue")
                continue
            note(i)
            if i > 2:
                break
            x = x + 3
        x = x + i
    note("behind")
    return x


def raised_from(x, k):
    try:
        try:
            x = x + 1
            boom(k)
        except ValueError as e:
            note("mid")
            x = x + 1
            raise KeyError("k", k) from e
        finally:
            note("finally")
    except KeyError as e:
        note(repr(e.__cause__), e.__cause__ is e.__context__)
        return x * 2
    return x


def raised_again(x, k):
    try:
        x = x + 1
        boom(k)
    except ValueError:
        note("before")
        x = x * 2
        raise
    return x


def message(x, k):
    try:
        x.reshape(77)
    except RuntimeError as e:
        note(str(e))
        x = x + 1
    return x


def swapped_in_cells(x, k):
    y = x + 1
    x, y = y, x
    note("x")
    return [f() for f in (lambda: x * 2, lambda: y)]


def arguments_swapped_in_cells(x, k):
    x, k = k, x
    note("x")
    f = lambda: (x, k)
    return f()


def closures_made_behind_a_break(x, k):
    y = x * 1
    note("x")
    g = lambda q: q * y + k
    note("y")
    y = g(y)
    g = lambda q: q * y + k
    return g(y)


def the_callers(x, k):
    def inner(y):
        y = y + 1
        return y, type(sys.exc_info()[1]).__name__

    try:
        boom(1)
    except ValueError:
        note("x")
        return inner(x)


def with_in_handler(x, k):
    try:
        boom(k)
    except ValueError:
        with weft.no_grad():
            x = x + 1
            note(weft.is_grad_enabled())
            x = x * 2
        x = x + 1
        note(weft.is_grad_enabled())
    return x


FUNCTIONS = [
    handler, nested, name_is_gone, loop_in_finally, loop_around, raised_from, raised_again, message, swapped_in_cells,
    arguments_swapped_in_cells, closures_made_behind_a_break, the_callers, with_in_handler,
]  # fmt: skip
