"""Generators that are left early are closed as Python closes them."""

import contextlib

import pytest

import weft
from tests.dynamo.kinds.alike import alike


def counting(log, n=5):
    try:
        yield from range(n)
    finally:
        log.append("closed")


@contextlib.contextmanager
def noted(log, name):
    log.append(f"+{name}")
    try:
        yield name
    finally:
        log.append(f"-{name}")


def nested(log):
    with noted(log, "outer"):
        yield from counting(log)


def test_a_loop_left_by_break():
    def f(x):
        log = []
        for v in counting(log):
            if v == 2:
                break
        log.append("behind")
        return x * v, log

    alike(f, (weft.ones(2),), fullgraph=True)


def test_a_loop_left_by_return_and_by_an_exception():
    def inner(log, how):
        for v in counting(log):
            if v == 1 and how == "return":
                return v
            if v == 1:
                raise ValueError(how)

    def f(x, how):
        log = []
        try:
            inner(log, how)
        except ValueError:
            log.append("caught")
        log.append("behind")
        return x + 1, log

    alike(f, (weft.ones(2), "return"), (weft.ones(2), "raise"))


def test_one_that_is_dropped():
    def f(x):
        log = []
        g = nested(log)
        next(g)
        log.append("before")
        g = None
        log.append("behind")
        first = next(counting(log))
        return x + first, log

    alike(f, (weft.ones(2),), fullgraph=True)


def test_one_that_lives_to_the_end():
    def f(x, log):
        g = nested(log)
        return x + next(g)

    alike(f, (weft.ones(2), []))


def test_one_that_never_started_or_ended():
    def f(x):
        log = []
        g = counting(log)
        h = counting(log, 1)
        values = list(h)
        del g, h
        return x + 1, log, values

    alike(f, (weft.ones(2),), fullgraph=True)


def test_send_throw_close():
    def echo():
        got = None
        while True:
            try:
                got = yield got
            except KeyError as e:
                got = str(e)

    def f(x):
        g = echo()
        try:
            g.send(1)
        except TypeError as e:
            error = str(e)
        next(g)
        return g.send(x), g.throw(KeyError("k")), g.close(), g.close(), error

    alike(f, (weft.ones(2),), fullgraph=True)


def closes(log):
    try:
        yield 1
    finally:
        log.append("closed")


@pytest.mark.parametrize("breaks", [False, True])
def test_generators_end_with_the_traceback_that_holds_them(breaks):
    def raises(log):
        g = closes(log)
        next(g)
        if breaks:
            weft._dynamo.graph_break()
        raise KeyError

    def f(x, log):
        try:
            raises(log)
        except KeyError:
            log.append("caught")
        log.append("behind")
        return x + 1

    alike(f, (weft.ones(2), []))
