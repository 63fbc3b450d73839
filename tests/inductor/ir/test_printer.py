"""The text of nests reads back as the same nests."""
import pytest

import weft
from aten.symbolic.expr import const, sym
from inductor.ir import nodes
from inductor.ir.buffer import Check, Kernel
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Stage, Store
from inductor.ir.printer import parse

SOFTMAX = '''\
def nest(i0=8, r0=reduced(100)):
    with inner:
        t0 = x.f32[100*i0 + r0]
        m = reduce_max.f32(t0)
    with inner:
        e = keep(exp.f32(sub.f32(t0, row.m.f32)))
        s = reduce_sum.f32(kept.e.f32)
    with inner:
        out.f32[100*i0 + r0] = div.f32(kept.e.f32, row.s.f32)'''


def softmax():
    i, r = sym("i0"), sym("r0")
    at = 100 * i + r
    x = nodes.load("x", at, "float32")
    row, kept = (lambda n: nodes.row(n, "float32")), nodes.kept("e", "float32")
    shifted = nodes.call("sub", (x, row("m")), "float32")
    return Nest((Dim("i0", const(8)), Dim("r0", const(100), True)), (
        Stage(True, (Reduce("m", "max", x, "float32"),)),
        Stage(True, (Keep("e", nodes.call("exp", (shifted,), "float32")), Reduce("s", "sum", kept, "float32"))),
        Stage(True, (Store("out", at, nodes.call("div", (kept, row("s")), "float32"), "float32"),)),
    ))


def test_softmax_is_the_text_of_the_docstring():
    assert str(softmax()) == SOFTMAX
    assert parse(SOFTMAX) == softmax()


def test_indices_that_depend_on_data_checks_and_constants_read_back():
    i, n = sym("i0"), sym("s0")
    check = Check("embedding", "index", "model.py:3  weight[tokens]")
    at = nodes.in_bounds(nodes.load("tokens", i, "int64"), n, check)
    row = nodes.load("weight", 4 * at.symbol + 1, "float32", (at,))
    value = nodes.masked(nodes.index(i * 1, "int64"), row, nodes.const(float("-inf"), "float32"))
    nest = Nest((Dim("i0", n),), (Stage(False, (
        Accumulate("grad", at.symbol * 2, value, "bfloat16", (at,)),
        Store("out", i, nodes.const(float("nan"), "float32"), "float32"))),))
    back = parse(str(nest))
    assert str(back) == str(nest) and back == nest


def test_every_nest_of_compiled_functions_reads_back(monkeypatch):
    from inductor import compile as pipeline

    seen = []
    original = pipeline._log
    monkeypatch.setattr(pipeline, "_log", lambda channel, value: (seen.append(value), original(channel, value)))
    f = weft.compile(lambda x, i: (x[i].softmax(-1).cumsum(0) + weft.nn.functional.gelu(x.mean(0))).amax(-1), dynamic=True)
    x = weft.randn(7, 5, requires_grad=True)
    f(x, weft.tensor([1, 6, 2])).sum().backward()
    nests = [nest for value in seen for kernel in getattr(value, "steps", ()) if isinstance(kernel, Kernel)
             for nest in (kernel.body if isinstance(kernel.body, tuple) else ())]
    assert nests
    for nest in nests:
        assert parse(str(nest)) == nest


def test_text_that_is_no_nest_is_refused():
    with pytest.raises(ValueError, match="def nest"):
        parse("x = 1")
    with pytest.raises(ValueError, match="line 2"):
        parse("def nest(i0=3):\n    x = 1")
