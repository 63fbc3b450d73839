"""Graph breaks where an exception is being handled: results, what `sys.exc_info` and contexts say, tracebacks."""

import contextlib
import gc
import sys
import traceback

import pytest

import weft
from dynamo import convert_frame
from tests.dynamo.resume import handling
from tests.dynamo.resume.handling import FUNCTIONS, LOG


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()
    convert_frame.counters.clear()
    with weft._dynamo.config.patch(recompile_limit=64):
        yield
    weft.compiler.reset()


def plain(v):
    if isinstance(v, weft.Tensor):
        return v.tolist(), v.requires_grad
    return type(v)(map(plain, v)) if isinstance(v, (tuple, list)) else v


def outcome(f, x, k):
    """Result or exception with its context, cause and the functions of its traceback; notes."""
    LOG.clear()
    try:
        value = plain(f(x, k))
    except Exception as e:
        names = [s.name for s in traceback.extract_tb(e.__traceback__) if s.filename == handling.__file__]
        value = type(e), e.args, repr(e.__context__), repr(e.__cause__), names[-1]
    assert sys.exc_info() == (None, None, None) and weft.is_grad_enabled()
    return value, list(LOG)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_eager_does(f):
    compiled = weft.compile(f, backend="eager")
    for k, n in ((1, 3), (0, 3), (1, 3), (2, 4), (1, 5), (0, 6)):
        x = weft.arange(float(n))
        assert outcome(compiled, x, k) == outcome(f, x, k)
    try:  # and the same while a caller handles an exception
        raise LookupError("caller")
    except LookupError:
        assert within(compiled) == within(f) and isinstance(sys.exc_info()[1], LookupError)


def within(f):
    """The notes of a call inside of an except block, and the context of what it raises."""
    LOG.clear()
    try:
        f(weft.ones(3), 1)
    except Exception as e:
        LOG.append(repr(e.__context__))
    return list(LOG)


def test_an_except_block_with_a_break_is_captured():
    compiled = weft.compile(handling.handler, backend="eager")
    compiled(weft.ones(3), 1)
    assert convert_frame.counters["graphs"] == 4 and convert_frame.counters["breaks"] == 3
    assert convert_frame.counters["skipped"] == 0


def test_the_traceback_names_the_calls_that_were_inlined():
    def lines(f):
        with pytest.raises(ValueError) as e:
            f(weft.ones(3), 1)
        found = traceback.extract_tb(e.value.__traceback__)
        return [(s.name, s.lineno) for s in found if s.filename == handling.__file__]

    compiled = weft.compile(handling.raised_again, backend="eager")
    assert lines(compiled)[-2:] == lines(handling.raised_again)[-2:]


def test_a_frame_does_not_take_its_callers_exception_for_none():
    def f(x):
        return x + 1, sys.exc_info()[0]

    compiled = weft.compile(f, backend="eager")
    assert compiled(weft.ones(2))[1] is None
    try:
        raise KeyError
    except KeyError:
        assert compiled(weft.ones(2))[1] is KeyError
    assert compiled(weft.ones(2))[1] is None


def test_an_internal_error_is_told_once_for_a_function_and_all_that_it_calls(monkeypatch):
    import warnings

    from aten import errors, settings

    calls = []

    def broken(*args):
        calls.append(args)
        raise KeyError("inside the compiler")

    def leaf(x):
        return x * 2

    class Part(weft.nn.Module):
        def forward(self, x):
            return leaf(x) + 1

    model = weft.nn.Sequential(*[Part() for _ in range(5)])
    errors.forget_warnings()
    monkeypatch.setattr(convert_frame, "make_entry", broken)
    compiled = weft.compile(model, backend="eager")
    with settings.patch(strict=False), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            assert compiled(weft.ones(2)).tolist() == model(weft.ones(2)).tolist()
    assert len(seen) == 1 and len(calls) == 1, [str(w.message) for w in seen]


def picked_in_a_try(x, i, log):
    log.append("before")
    try:
        with weft.no_grad():
            y = weft.nn.functional.embedding(i, (x * 2).reshape(4, 1)).sum(1)
    except IndexError as e:
        log.append(str(e))
        return x - 1 + weft.rand(1) * 0
    finally:
        log.append("left")
    return y


def picked_in_a_call(x, i, log):
    def attempted(f):
        try:
            return f()
        except Exception as e:
            return type(e).__name__

    found = attempted(lambda: x[i]), attempted(lambda: x.long() // i), attempted(lambda: weft.linalg.inv(x.reshape(2, 2)))
    return *found, x + 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor", lambda gm, inputs: gm.forward])
@pytest.mark.parametrize("function", [picked_in_a_try, picked_in_a_call])
def test_errors_that_data_decides_are_handled_by_the_program(function, backend):
    compiled = weft.compile(function, backend=backend)
    ours, theirs = [], []
    for i in (weft.tensor([1]), weft.tensor([9]), weft.tensor([0]), weft.tensor([8]), weft.tensor([2])):
        for x in (weft.arange(4.0), weft.ones(4)):
            found, expected = compiled(x, i, ours), function(x, i, theirs)
            for a, b in zip(found, expected, strict=True):
                assert a == b if isinstance(b, str) else weft.allclose(a, b, equal_nan=True)
    assert ours == theirs


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_an_error_behind_a_write_is_handled_and_the_write_done_once(backend):
    def f(x, i):
        x.add_(1)
        try:
            return x[i] * 2
        except IndexError:
            return x + 0

    compiled = weft.compile(f, backend=backend)
    ours, theirs = weft.arange(3.0), weft.arange(3.0)
    for i in (0, 5, 1, 7):
        assert compiled(ours, weft.tensor(i)).tolist() == f(theirs, weft.tensor(i)).tolist()
        assert ours.tolist() == theirs.tolist()


def under_managers_of_the_library(mean, weight, i):
    mean.mul_(0.9)
    with weft.no_grad(), weft.autocast("cpu"):
        return weft.nn.functional.embedding(i, weight).sum(1) + mean.sqrt()


def in_a_generator(mean, weight, i):
    mean.mul_(0.9)
    return sum(weft.nn.functional.embedding(i[n], weight) for n in range(2))


@pytest.mark.parametrize("function", [under_managers_of_the_library, in_a_generator])
def test_what_passes_errors_on_is_no_handler_of_the_program(function):
    args = weft.ones(3), weft.randn(4, 3), weft.tensor([[0, 3], [1, 2]])
    weft.compile(function, backend="eager")(*args)
    assert convert_frame.counters["breaks"] == 0 and convert_frame.counters["graphs"] == 1


REFUSED = [
    "x[i] = 1",
    "x[[1, int(len(x)) + 5]] = 1",
    "x.index_add_(0, i, weft.ones(1))",
    "x.scatter_(0, i, 2.0)",
    "weft.gather(x, 0, i, out=weft.ones(1))",
    "x.to(i.numel() + 2)",
    "weft.ones(2, device='cuda:9')",
    "weft.func.vmap(lambda v: v[i])(x.reshape(1, -1))",
    "weft.func.grad(lambda v: v[i].sum())(x)",
    "y += weft.cond(x.sum() > 0, lambda v: v[i], lambda v: v[i] * 2, (x,))",
    "x.untyped_storage().resize_('a')",
    "x[weft.ones(3) > 0] = 3",
    "x[weft.ones(1) > 0] = 3",
    "x[weft.ones(4, 1) > 0] = 3",
    "weft.rand(2, generator=3)",
]


@pytest.mark.filterwarnings("error", "ignore:compiled functions of tensors on cuda run eager")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("statement", REFUSED)
def test_statements_that_are_refused_as_they_run_are_handled_by_the_program(statement, backend):
    lines = "def f(x, i):", "    y = x * 2", "    try:", f"        {statement}", "        y = y + 3"
    text = "\n".join([*lines, "    except Exception as e:", "        return y + 1, type(e), str(e)", "    return y, x"])
    space = {"weft": weft}
    exec(text, space)
    compiled = weft.compile(space["f"], backend=backend)
    for i in (1, 9, 0, 8):
        ours, theirs = weft.ones(4), weft.ones(4)
        found, expected = compiled(ours, weft.tensor([i])), space["f"](theirs, weft.tensor([i]))
        assert found[0].tolist() == expected[0].tolist() and ours.tolist() == theirs.tolist()
        assert found[2:] == expected[2:] and (found[1] is expected[1] or isinstance(expected[1], weft.Tensor))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_write_between_an_error_that_is_handled_and_one_that_is_not_is_done_once(backend):
    def f(x, i, j):
        try:
            y = x[i]
        except IndexError:
            y = x + 0
        x.add_(1)
        return x[j] + y

    compiled = weft.compile(f, backend=backend)
    ours, theirs = weft.arange(3.0), weft.arange(3.0)
    for i, j in ((0, 1), (1, 7), (5, 0), (5, 7)):
        for run, x in ((compiled, ours), (f, theirs)):
            try:
                run(x, weft.tensor(i), weft.tensor(j))
            except IndexError:
                assert j == 7
        assert ours.tolist() == theirs.tolist()


@contextlib.contextmanager
def forgiving(log):
    try:
        yield
    except IndexError as e:
        log.append(str(e))


def suppressed(x, i, log):
    with contextlib.suppress(IndexError), weft.no_grad():
        x = x[i] + 1
    return x * 2


def within_a_generator(x, i, log):
    with forgiving(log):
        x = x[i] + 1
    return x * 2


def on_a_stack(x, i, log):
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, "left")
        stack.enter_context(forgiving(log))
        x = x[i] + 1
    return x * 2


@weft.library.custom_op("handling::picked", mutates_args=())
def picked(x: weft.Tensor, i: weft.Tensor) -> weft.Tensor:
    return x[i].clone()


@picked.register_fake
def _(x, i):
    return weft.empty(i.shape[0])


@weft.library.custom_op("handling::counted", mutates_args={"x"})
def counted(x: weft.Tensor, i: weft.Tensor) -> None:
    x[0] += 1
    x[i] += 1


@weft._dynamo.allow_in_graph
def allowed(x, i):
    return x[i] + 1


def by_a_custom_op(x, i, log):
    try:
        return picked(x, i) * 2
    except IndexError as e:
        log.append(str(e))
        return x + 5


def by_a_custom_op_that_writes(x, i, log):
    try:
        counted(x, i)
    except IndexError as e:
        log.append(str(e))
    return x + 5


def by_an_allowed_function(x, i, log):
    try:
        return allowed(x, i) * 2
    except IndexError as e:
        log.append(str(e))
        return x + 5


HANDLED_OTHERWISE = [
    suppressed, within_a_generator, on_a_stack, by_a_custom_op, by_a_custom_op_that_writes, by_an_allowed_function,
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("function", HANDLED_OTHERWISE)
def test_errors_of_what_is_not_looked_into_and_handlers_that_are_managers(function, backend):
    compiled = weft.compile(function, backend=backend)
    told: list[list] = []
    for run in (compiled, function):
        told.append([])
        for i in (1, 9, 0, 8):
            x = weft.ones(4)
            told[-1].append((run(x, weft.tensor([i]), told[-1]).tolist(), x.tolist()))
    assert told[0] == told[1]


class Counter:
    n = 0


def told_before(x, i, log, counter):
    log.append("before")
    counter.n += 1
    y = x[i]
    log.append("after")
    return y


def told_behind_a_break(x, i, log, counter):
    counter.n += 1
    weft._dynamo.graph_break()
    log.append("before")
    return weft.linalg.inv(x.reshape(2, 2) * (i < 4)) + counter.n


def written_before(x, i, log, counter):
    x.mul_(2)
    x[1:].add_(1)
    log.append("before")
    counter.n += 1
    return x[i]


def written_and_handled_in_one_graph(x, i, log, counter):
    x.t_().mul_(2)
    counter.n += 1
    try:
        return x[i]
    finally:
        log.append("finally")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor", lambda gm, inputs: gm.forward])
@pytest.mark.parametrize("function", [told_before, told_behind_a_break, written_before, written_and_handled_in_one_graph])
def test_what_the_program_did_before_an_op_raises_is_done(function, backend):
    compiled = weft.compile(function, backend=backend)
    told: list[list] = []
    for run in (compiled, function):
        told.append([])
        for i in (1, 9, 0, 8):
            log: list[str] = []
            counter, x = Counter(), weft.arange(4.0)
            try:
                found = run(x, weft.tensor([i]), log, counter).tolist()
            except (IndexError, RuntimeError) as e:
                found = str(e)
            told[-1].append((found, log, counter.n, x.tolist()))
    assert told[0] == told[1]


def test_what_is_done_before_a_tensor_goes_to_a_device_that_may_be_absent():
    def f(x, log, handled):
        x.mul_(2)
        log.append("before")
        try:
            return x.to("cuda")
        except RuntimeError as e:
            log.append(str(e))
            if not handled:
                raise
        return x + 1

    for backend in ("eager", "aot_eager"):
        for handled in (True, False):
            told = []
            for run in (f, weft.compile(f, backend=backend, fullgraph=True)):
                x, log = weft.ones(2), []
                try:
                    found = run(x, log, handled).tolist()
                except RuntimeError as e:
                    found = str(e)
                told.append((found, x.tolist(), log))
            assert told[0] == told[1]


def handled_once(f):
    try:
        return f()
    except IndexError as e:
        return e.__suppress_context__  # known to a real exception alone


def handled_twice(f):
    try:
        f()
    except IndexError:
        try:
            raise ValueError
        except ValueError:
            weft._dynamo.graph_break()
    return False


@pytest.mark.parametrize("handling", [handled_once, handled_twice])
def test_frames_do_not_hold_the_exceptions_that_they_handled(handling):
    """What the frames of a traceback held is freed where plain Python frees it, without the collector."""
    ends = []

    class Held:
        def __del__(self):
            ends.append("end")

    def raising(held):
        raise IndexError

    def called(held):
        return c(lambda: raising(held))

    c = weft.compile(handling, backend="eager")
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            ends.append(called(Held()))
    finally:
        gc.enable()
    assert ends == ["end", False] * 3
