"""Entries: which one answers a call, and what happens when none does or its graph refuses."""

import gc
import sys
import warnings
import weakref

import pytest

import weft
from dynamo import _eval_frame
from dynamo._eval_frame import CompiledFunction
from dynamo.eval_frame import Config
from dynamo.guards import Equals, TypeIs
from dynamo.source import Local
from tests.dynamo.eval_frame.toy import CONFIG, Refused, entry, recoded, swapping


def test_a_direct_entry_calls_the_graph_without_a_frame(toy):
    def graph(*inputs):
        return tuple(i * 2 for i in inputs)

    result = ("dict", (("x", "rest"), (("output", 0), ("list", (("output", 1), ("const", None), ("reg", 0))))))

    def make(code, function, args, config):
        inputs = (Local("a"), Local("b"))
        return entry(code, config, [TypeIs(Local("a"), int)], graph=graph, inputs=inputs, result=result)

    toy(make)

    def f(a, b):
        raise AssertionError("the frame ran")

    g = CompiledFunction(f, CONFIG)
    for _ in range(3):
        assert g(3, 4) == {"x": 6, "rest": [8, None, 3]}
        assert g(3, b=4) == {"x": 6, "rest": [8, None, 3]}  # through the hook: the frame ends with the result


def test_named_results_need_no_new_code():
    def f(x):
        return weft.sort(x)

    compiled = weft.compile(f)
    x = weft.tensor([3.0, 1.0, 2.0])
    for _ in range(3):
        found = compiled(x)
    assert type(found) is weft.return_types.sort and found.indices.tolist() == [1, 2, 0]
    (made,) = _eval_frame.entries(f.__code__)
    assert made.code is None
    with pytest.raises(TypeError, match="class of tuples"):
        _eval_frame.Entry(CONFIG, made.guards, inputs=(), result=("named", (list, ())))


def test_a_graph_that_runs_op_by_op_is_called_as_the_python_that_it_is():
    def f(x):
        return weft.sort(x)

    compiled = weft.compile(f)
    for _ in range(12):
        compiled(weft.rand(4))
    (made,) = _eval_frame.entries(f.__code__)
    assert type(made.graph) is _eval_frame.GraphCall
    assert made.graph.function is made.graph.__self__._function()
    calls = []
    graph = _eval_frame.GraphCall("m", lambda *inputs: calls.append(inputs), lambda: lambda *all: calls.append(all), 2)
    for k in range(4):
        graph(k)
    assert calls == [(0,), (1,), ("m", 2), ("m", 3)]


def test_a_graph_that_runs_op_by_op_warns_as_often_as_plain_code():
    def f(x):
        return weft.where(x, 1.0, 2.0)

    compiled, x = weft.compile(f, backend="eager"), weft.ones(3, dtype=weft.uint8)
    for _ in range(12):
        with warnings.catch_warnings(record=True) as of_eager:
            warnings.simplefilter("always")
            f(x)
        with warnings.catch_warnings(record=True) as of_compiled:
            warnings.simplefilter("always")
            compiled(x)
        assert len(of_compiled) == len(of_eager) == 1


def test_guards_choose_among_entries(toy):
    def make(code, function, args, config):
        n = args["n"]
        return entry(code, config, [Equals(Local("n"), n)], result=("const", f"for {n}"))

    compiler = toy(make)

    def f(n):
        return "eager"

    g = CompiledFunction(f, Config(backend=print, limit=4))
    for _ in range(3):
        for n in (1, 2, 3, 4):
            assert g(n) == f"for {n}"
            assert g(n=n) == f"for {n}"
    assert len(compiler.asked) == 4
    assert g(5) == "eager" and g(n=6) == "eager" and g(1) == "for 1"
    assert compiler.told == [("limit", "f", 4)]
    assert [e.hits > 0 for e in _eval_frame.entries(f.__code__)] == [True] * 4
    other = CompiledFunction(f, Config(backend=len))
    assert other(9) == "for 9"  # entries belong to a configuration
    _eval_frame.reset(f.__code__)
    assert _eval_frame.entries(f.__code__) == []


def test_none_runs_eager_this_time_and_false_always(toy):
    answers = iter([None, None, False])
    compiler = toy(lambda *a: next(answers))

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    assert [g(1), g(x=1), g(1), g(1), g(x=1)] == ["eager"] * 5
    assert len(compiler.asked) == 3


def test_an_error_of_the_compiler_is_the_callers(toy):
    def make(code, function, args, config):
        raise KeyError("inside")

    toy(make)

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    for call in (lambda: g(1), lambda: g(x=1)):
        with pytest.raises(KeyError, match="inside"):
            call()


def test_a_graph_that_refuses_its_data_leaves_the_call_to_eager(toy):
    def graph(x):
        if x < 0:
            raise Refused
        return (x,)

    def make(code, function, args, config):
        return entry(code, config, graph=graph, inputs=(Local("x"),), result=("output", 0))

    compiler = toy(make)

    def f(x):
        if x == -1:
            raise IndexError("as eager says")
        return "eager"

    g = CompiledFunction(f, CONFIG)
    assert g(1) == 1 and g(x=2) == 2
    for call in (lambda: g(-1), lambda: g(x=-1)):
        with pytest.raises(IndexError, match="as eager says") as e:
            call()
        assert e.value.__context__ is None
    assert compiler.told == []
    assert g(-2) == "eager" and compiler.told == [("rerun", "f")]


def test_other_errors_of_a_graph_are_raised(toy):
    def graph(x):
        raise OSError("gone")

    toy(lambda code, f, args, config: entry(code, config, graph=graph, inputs=(Local("x"),), result=("output", 0)))

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    for call in (lambda: g(1), lambda: g(x=1)):
        with pytest.raises(OSError, match="gone"):
            call()


def test_references_are_given_back(toy):
    def make(code, function, args, config):
        if code.co_name == "direct":
            return entry(code, config, graph=lambda x: (x,), inputs=(Local("x"),), result=("output", 0))
        return entry(code, config, new=recoded(code, compiled="eager"))

    compiler = toy(make)

    def direct(x):
        return x

    def swapped(x):
        if x.fail:
            raise ValueError("eager")
        return x

    class Thing:
        fail = False

    for f in (direct, swapped):
        g = CompiledFunction(f, CONFIG)
        thing = Thing()
        g(thing)
        g(x=thing)
        before = sys.getrefcount(thing)
        for _ in range(50):
            g(thing)
            g(x=thing)
        assert sys.getrefcount(thing) == before
        thing.fail = True
        for _ in range(20):
            for call in (lambda g=g, t=thing: g(t), lambda g=g, t=thing: g(x=t)):
                try:
                    call()
                except ValueError:
                    pass
        del call
        gc.collect()
        assert sys.getrefcount(thing) == before
        gone = weakref.ref(thing)
        compiler.asked.clear()
        del thing
        gc.collect()
        assert gone() is None
    code_references = sys.getrefcount(swapped.__code__)
    for _ in range(50):
        g(x=Thing())
    after = sys.getrefcount(swapped.__code__)
    assert after == code_references


def test_entries_die_with_their_code(toy):
    toy(swapping)
    space = {}
    exec("def f(x):\n    return 'eager'", space)
    g = CompiledFunction(space["f"], CONFIG)
    assert g(1) == "compiled"
    new = weakref.ref(_eval_frame.entries(space["f"].__code__)[0].code)
    del g, space
    gc.collect()
    assert new() is None
