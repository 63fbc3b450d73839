"""print, warnings and loggers: a break, or put behind the graph, or left out, as the settings say."""

import contextlib
import io
import logging
import warnings

import pytest

import weft
import weft.nn.functional as F
from aten import errors

logger = logging.getLogger("weft.tests.logged")


def chatty(x):
    print("begin")
    y = x + x
    print(y)
    print(f"res: {y} {y!r} {1}", sep="")
    z = y * y
    weft._dynamo.graph_break()
    print(1, 2, 3)
    parts = [z]
    print(parts)
    parts.append(y)
    return z + y


def printed(f, x):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        f(x)
    return out.getvalue()


def test_print_breaks_and_is_not_lost():
    x = weft.ones(2)
    compiled = weft.compile(chatty, backend="eager")
    assert printed(compiled, x) == printed(compiled, x) == printed(chatty, x)


def test_print_goes_behind_the_graph():
    x = weft.ones(2)
    with weft._dynamo.config.patch(reorderable_logging_functions={print}):
        compiled = weft.compile(chatty, backend="eager")
        assert printed(compiled, x) == printed(compiled, x) == printed(chatty, x)
        whole = weft.compile(lambda x: (print(f"{x.sum()}"), x + 1)[1], backend="eager", fullgraph=True)
        assert printed(whole, x) == "2.0\n"


def changed_later(x):
    y = x + x
    tail = y[1:]
    print(y, (tail, 1), x.shape)
    print(f"{tail}")
    y.add_(1)
    print(tail, {"y": y})
    y.mul_(2)
    parts = [y]
    print(parts)
    parts.append(tail)
    print(x)
    x.zero_()
    return y


def test_what_is_printed_is_as_it_was_at_the_print():
    with weft._dynamo.config.patch(reorderable_logging_functions={print}):
        compiled = weft.compile(changed_later, backend="eager")
        assert printed(compiled, weft.ones(2)) == printed(compiled, weft.ones(2)) == printed(changed_later, weft.ones(2))


def test_what_is_in_tuples_from_outside_is_printed_as_it_was():
    def f(pair, nested):
        print(pair, nested)
        pair[0].add_(1)
        return pair[0] * 2

    def told(f):
        x = weft.ones(2)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            f((x, 1), (x, (x, 2)))
        return out.getvalue()

    with weft._dynamo.config.patch(reorderable_logging_functions={print}):
        compiled = weft.compile(f, backend="eager", fullgraph=True)
        assert told(compiled) == told(compiled) == told(f)


def test_functions_of_the_users_go_behind_the_graph():
    told = []

    def tell(text):
        told.append(text)

    def f(x):
        tell("first")
        y = x + x
        tell(f"{y.sum()}")
        return y * 2

    with weft._dynamo.config.patch(reorderable_logging_functions={tell}):
        weft.compile(f, backend="eager", fullgraph=True)(weft.ones(2))
    assert told == ["first", "4.0"]


def test_methods_of_loggers_are_left_out(caplog):
    def f(x):
        y = x + 1
        logger.info("told")
        return y * 2

    with caplog.at_level(logging.INFO):
        for ignored in ({logger.info}, {logging.Logger.info}):
            weft._dynamo.reset()
            with weft._dynamo.config.patch(ignore_logger_methods=ignored):
                assert weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1)).item() == 4
        assert not caplog.records
        weft._dynamo.reset()
        weft.compile(f, backend="eager")(weft.ones(1))
        assert [r.message for r in caplog.records] == ["told"]


def test_warnings_of_wefts_own_are_of_the_graph_and_of_the_line_that_python_names():
    def f(x, theta):
        grid = F.affine_grid(theta, x.size())
        return F.upsample(F.grid_sample(x, grid), scale_factor=2)

    def told(f):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            f(weft.ones(1, 1, 2, 2), weft.ones(1, 2, 3))
            f(weft.ones(1, 1, 2, 2), weft.ones(1, 2, 3))
        return [(str(w.message), w.category, w.filename, w.lineno) for w in seen]

    wanted = told(f)
    assert len(wanted) == 6 and told(weft.compile(f, fullgraph=True, backend="eager")) == wanted


def test_a_warning_said_once_is_said_behind_the_graph(recwarn):
    errors.forget_warnings()

    def turned(x):
        return x.T + 1

    compiled = weft.compile(turned, backend="eager", fullgraph=True)
    for _ in range(2):
        assert compiled(weft.ones(2, 3, 4)).shape == (4, 3, 2)
    assert [(w.filename, w.category) for w in recwarn] == [(__file__, UserWarning)]
    assert "deprecated" in str(recwarn[0].message)


def warned_by_ops(x, y):
    a = x.var() + F.mse_loss(x, y)
    b = inlined(y) if y.ndim == 1 else a
    return a, b, weft.tensor(x) + weft.range(0, 2).sum(), F.kl_div(x, x), weft.vmap(lambda v: v * 2)(x)


def inlined(y):
    return y[weft.tensor([1, 0], dtype=weft.uint8)] + weft.std_mean(y[:1])[0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("grad", [False, True])
def test_warnings_of_ops_come_in_each_call_once_and_name_the_line_of_the_program(backend, grad):
    def told(f):
        x = weft.ones(1, 1, requires_grad=grad)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for _ in range(3):
                f(x, weft.ones(2))
        return sorted((str(w.message), w.category, w.filename, w.lineno) for w in seen)

    wanted = told(warned_by_ops)
    assert len(wanted) == 21 and {w[2] for w in wanted} == {__file__}
    assert told(weft.compile(warned_by_ops, backend=backend, fullgraph=True)) == wanted


def test_a_warning_of_an_op_that_is_an_error_is_one_of_the_call():
    def f(x):
        return x.var() + 1

    compiled = weft.compile(f, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="degrees of freedom"):
                compiled(weft.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled(weft.ones(1)).isnan()
