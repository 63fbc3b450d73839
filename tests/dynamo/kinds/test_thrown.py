"""What an exception that is thrown into a generator, or raised in one, has as its context; and how one tells its end."""

import contextlib

import pytest

import weft
from tests.dynamo.kinds.alike import alike


def two():
    try:
        yield 1
    except ValueError:
        yield 2


def telling(log):
    yield 1
    try:
        raise KeyError("in")
    except KeyError as e:
        log.append(repr(e.__context__))
    yield 2
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        try:
            yield 3
        except IndexError as e:
            log.append(repr(e.__context__))
    with contextlib.suppress(ValueError):
        raise
    yield 4


class Stop(StopIteration):
    pass


class Stops:
    def __iter__(self):
        return self

    def __next__(self):
        raise Stop(1, 2)


def thrown_before_it_begins(x):
    try:
        raise KeyError(1)
    except KeyError:
        try:
            two().throw(ValueError("thrown"))
        except ValueError as e:
            return x + 1, repr(e.__context__)


def thrown_and_not_caught(x):
    g = two()
    next(g)
    try:
        raise KeyError(1)
    except KeyError:
        try:
            g.throw(IndexError("thrown"))
        except IndexError as e:
            return x + 1, repr(e.__context__)


def resumed_within_other_handlers(x):
    log = []
    g = telling(log)
    try:
        raise ValueError("v")
    except ValueError:
        log.append((next(g), next(g), next(g)))
    try:
        raise ValueError("u")
    except ValueError:
        log.append(g.throw(IndexError("i")))
    return x + 1, log


def closed_within_a_handler(x):
    log = []

    def closing():
        try:
            yield 1
        finally:
            try:
                raise ValueError("e")
            except ValueError as e:
                log.append((repr(e.__context__), repr(e.__context__.__context__)))

    g = closing()
    next(g)
    try:
        raise KeyError("k")
    except KeyError:
        g.close()
    return x + 1, log


def told_ends(x):
    log = []
    for iterator in (Stops(), iter(Stops()), (i for i in ())):
        try:
            next(iterator)
        except StopIteration as e:
            log.append((type(e).__name__, e.args))
    return x + 1, log


@pytest.mark.parametrize(
    "f",
    [thrown_before_it_begins, thrown_and_not_caught, resumed_within_other_handlers, closed_within_a_handler, told_ends],
    ids=lambda f: f.__name__,
)
def test_contexts_and_ends(f):
    alike(f, (weft.ones(2),))


def test_what_leaves_a_function_after_it_was_thrown_has_no_context_of_it():
    def f(x):
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
        except* (ValueError, KeyError):
            two().throw(ValueError("thrown"))
        return x + 1

    def leaves(g):
        try:
            g(weft.ones(2))
        except ValueError as e:
            return repr(e), repr(e.__context__)

    assert leaves(weft.compile(f, backend="eager")) == leaves(f)


def test_what_is_thrown_into_a_generator_that_has_ended_has_no_context():
    def f(x):
        g = two()
        list(g)
        try:
            {}["missing"]
        except KeyError:
            g.throw(ValueError("thrown"))
        return x + 1

    def leaves(g):
        with pytest.raises(ValueError) as e:
            g(weft.ones(2))
        return repr(e.value), repr(e.value.__context__), e.value.__traceback__.tb_next.tb_lineno

    assert leaves(weft.compile(f, backend="eager")) == leaves(f) and "None" in leaves(f)
