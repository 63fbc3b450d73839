"""What users reach as weft._dynamo: functions are functions, no module hides one."""

import importlib
import types

import pytest

import dynamo
import weft
from dynamo.convert_frame import counters
from dynamo.testing import CompileCounter

x = weft.ones(3)


def test_no_module_hides_a_public_name():
    for name, home in dynamo._HOME.items():
        importlib.import_module(home)
        assert not isinstance(getattr(weft._dynamo, name), types.ModuleType), name
        with pytest.raises(ImportError):
            importlib.import_module(f"dynamo.{name}")


def test_a_program_can_ask_for_a_break():
    def f(x):
        y = x + 1
        weft._dynamo.graph_break()
        return y * 2

    weft.compiler.reset()
    counters.clear()
    compiled = weft.compile(f, backend="eager")
    assert weft.equal(compiled(x), f(x)) and weft.equal(compiled(x), f(x))
    assert counters["breaks"] == 1 and counters["graphs"] == 2


def test_fullgraph_tells_where_it_was_asked_for():
    def f(x):
        weft._dynamo.graph_break(msg="here it ends")
        return x * 2

    with pytest.raises(weft._dynamo.Unsupported, match="asks for: here it ends(?s:.*)test_public_names.py"):
        weft.compile(f, backend="eager", fullgraph=True)(x)


@pytest.mark.parametrize("function, args", [(weft.sin, 1), (weft.nn.functional.gelu, 1), (weft.matmul, 2)])
def test_an_op_is_compiled_by_itself(function, args):
    counter = CompileCounter()
    compiled = weft.compile(function, backend=counter, fullgraph=True)
    given = [weft.randn(3, 3) for _ in range(args)]
    assert weft.equal(compiled(*given), function(*given))
    assert counter.frame_count == 1


def test_ops_are_looked_up_in_branches():
    def f(x):
        return weft.cond(x.sum() > 0, lambda v: weft.ops.aten.hypot.default(v, v), lambda v: weft.ops.aten.atan2.default(v, v), [x])

    weft.ops.aten.__dict__.pop("hypot", None)  # as nobody has asked for it yet
    x = weft.ones(2)
    assert weft.equal(weft.compile(f, backend="eager", fullgraph=True)(x), weft.hypot(x, x))
