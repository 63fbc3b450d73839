"""What users reach as weft._dynamo: functions are functions, no module hides one."""

import importlib
import types

import pytest

import dynamo
import weft
from dynamo.convert_frame import counters

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
