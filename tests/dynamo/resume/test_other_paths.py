"""An op raises, the program handles it and comes to a graph break on another path than the traced one."""

import pytest

import weft


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()
    yield
    weft.compiler.reset()


def unassigned_by_the_error(x, i, log):
    try:
        y = x[i]
    except IndexError:
        pass
    weft._dynamo.graph_break()
    try:
        return y + 1
    except UnboundLocalError as e:
        return str(e)


def assigned_by_the_error(x, i, log):
    try:
        x[i]
    except IndexError:
        z = 3
    weft._dynamo.graph_break()
    try:
        return z + 1
    except UnboundLocalError as e:
        return str(e)


def deleted_by_the_error(x, i, log):
    try:
        x[i]
    except IndexError:
        del x
    weft._dynamo.graph_break()
    try:
        return x + 1
    except UnboundLocalError as e:
        return str(e)


def within_a_call(x, i, log):
    try:
        x = x[i]
    except IndexError:
        log.append("none")
    log.append(weft._dynamo.graph_break())
    return x


def with_a_cell(x, i, log):
    n = 0

    def counted():
        nonlocal n
        n += 1
        return n

    try:
        x = x[i]
        n = 7
    except IndexError:
        n = 9
    log.append(weft._dynamo.graph_break())
    return x, counted(), n


def kept_by_the_handler(x, i, log):
    try:
        y = x[i]
    except IndexError as e:
        told = e
        y = None
    weft._dynamo.graph_break()
    return str(told) if y is None else y


def behind_a_break(x, i, log):
    weft._dynamo.graph_break()
    try:
        y = x[i]
    except IndexError:
        z = "none"
    log.append(weft._dynamo.graph_break())
    return y if i < 4 else z


def in_a_finally_block(x, i, log):
    try:
        try:
            raise KeyError(3)
        finally:
            x[i]
    except Exception as e:
        log.append(type(e.__context__).__name__)
    return x


def tried_again(x, i, log):
    while True:
        try:
            y = x[i]
            break
        except IndexError:
            i = i - 5
            log.append(weft._dynamo.graph_break())
    log.append(weft._dynamo.graph_break())
    return y


FUNCTIONS = [
    unassigned_by_the_error, assigned_by_the_error, deleted_by_the_error, within_a_call, with_a_cell, kept_by_the_handler,
    behind_a_break, in_a_finally_block, tried_again,
]  # fmt: skip


def plain(v):
    if isinstance(v, tuple):
        return tuple(map(plain, v))
    return v.tolist() if isinstance(v, weft.Tensor) else v


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_break_is_met_behind_an_error_that_was_handled(function, backend):
    compiled = weft.compile(function, backend=backend)
    told: list[list] = []
    for run in (compiled, function):
        told.append([])
        for i in (1, 9, 0, 8):
            log: list = []
            found = run(weft.arange(4.0), weft.tensor([i]), log)
            told[-1].append((plain(found), log))
    assert told[0] == told[1]
