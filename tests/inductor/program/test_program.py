"""Programs are plain data: what they say, that they read back equal, and that what is malformed is refused."""

import json

import pytest

from aten.symbolic import expr
from aten.symbolic.expr import sym
from inductor.ir.program import Program, ProgramError
from inductor.ir.steps import Alloc, Buffer, Check, CheckInfo, Copy, Evaluate, Extern, Input, Kernel, Output, Python, View
from inductor.ir.values import Failed, ValueTable, apply


def pointwise() -> Program:
    """out[s0, 4] = k(in[s0, 4])"""
    t = ValueTable()
    rows = t.add("size", 0, 0)
    four, one = t.const(4), t.const(1)
    n = t.add("mul", rows, four)
    x = Input("tensor", "float32", (rows, four), (four, one))
    out = Buffer("fresh", "float32", (rows, four), (four, one))
    return Program(
        [x],
        t.values,
        [Buffer("input", "float32", base=0), out],
        [Alloc(1), Kernel("k", (0, 1), (n,), (1,))],
        [Output("buffer", 1)],
        len(t.values),
    )


def everything() -> Program:
    """One step of every flat kind."""
    t = ValueTable()
    n, one, zero = t.add("size", 0, 0), t.const(1), t.const(0)
    ok = t.add("le", n, t.const(100))
    half = t.add("fmul", t.add("input", 1), t.const(0.5))
    nbytes = t.add("mul", n, t.const(4))
    prologue = len(t.values)
    found = t.add("result_size", 3, 0)
    buffers = [
        Buffer("input", "float32", base=0),
        Buffer("arena", "float32", (n,), (one,), offset=zero),
        Buffer("view", "float32", (n,), (one,), base=1, offset=zero),
        Buffer("result", "int64"),
        Buffer("fresh", "float32", (found,), (one,)),
    ]
    steps = [
        Check(ok, 0),
        View(2),
        Kernel("k0", (0, 1), (n, half), (1,), first_check=1),
        Copy(2, 1),
        Python("nonzero", (("buffer", 1),), (3,), (("as_tuple", ("literal", False)),)),
        Evaluate(prologue, prologue + 1),
        Alloc(4),
        Extern(
            "cat", (("list", (("buffer", 1), ("buffer", 2))), ("value", zero)), (4,), (("dtype", ("dtype", "float32")),)
        ),
    ]
    outputs = [
        Output("buffer", 4),
        Output("input", 0),
        Output("view", 0, (n,), (one,), zero),
        Output("int", found),
        Output("float", half),
        Output("constant", literal="same"),
    ]
    return Program(
        [Input("tensor", "float32", (n,), (one,)), Input("float")],
        t.values,
        buffers,
        steps,
        outputs,
        prologue,
        checks=[CheckInfo("view", "size", "a.py:3"), CheckInfo("embedding", "index", "a.py:4  w[i]")],
        arena=nbytes,
    )


@pytest.mark.parametrize("make", [pointwise, everything])
def test_json_reads_back_equal(make):
    p = make()
    assert Program.from_json(p.to_json()) == p
    assert Program.from_json(p.to_json()).to_json() == p.to_json()


def test_a_program_prints_as_python():
    assert str(pointwise()) == (
        'def program(in0: "float32[in0.size(0), 4]"):\n'
        "    buf1 = empty(float32[in0.size(0), 4])\n"
        "    k(in0, buf1, (in0.size(0) * 4))\n"
        "    return (buf1,)"
    )
    text = str(everything())
    assert "arena = (in0.size(0) * 4) bytes" in text
    assert "buf3 = nonzero(buf1, as_tuple=False)" in text
    assert "buf4 = empty(float32[buf3.size(0)])" in text
    assert "cat([buf1, buf2], 0, dtype=float32, out=(buf4))" in text


def edit(path, value):
    """A change of the plain data: the item at `path` replaced."""

    def change(data):
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "path, value, message",
    [
        (("format",), 99, "format 99"),
        (("inputs", 0, 1), "float33", "unknown dtype"),
        (("inputs", 0, 0), "object", "unknown kind"),
        (("inputs", 0, 2), [0, 77], "77"),
        (("values", 3), ["mul", 0, 9], "value 3"),
        (("values", 3), ["mul", 0], "value 3"),
        (("values", 3), ["system", 0], "value 3"),
        (("values", 1), ["const", 2**70], "value 1"),
        (("values", 0), ["size", 0, 2], "value 0"),
        (("values", 0), ["size", -1, 0], "value 0"),
        (("buffers", 0, 4), 3, "buffer 0"),
        (("buffers", 1, 0), "arena", "no arena"),
        (("steps", 0), ["Alloc", 0], "buffer 0 is input"),
        (("steps", 0), ["Alloc", 5], "5"),
        (("steps", 0), ["Free", 1], "unknown step"),
        (("steps", 0), ["Copy", 0, 1], "before it has memory"),
        (("steps", 1), ["Kernel", "k", [0, 1], [8], [], -1], "8"),
        (("steps", 1), ["Kernel", "k;rm", [0, 1], [3], [1], -1], "no name"),
        (("steps", 1), ["Kernel", "k", [0, 1], [3], [1], 0], "check 0"),
        (("outputs", 0), ["buffer", 2, [], [], -1, None], "2"),
        (("outputs", 0), ["handle", 1, [], [], -1, None], "unknown kind"),
        (("mutations",), [1], "mutation"),
        (("prologue",), 2, "2"),
        (("arena",), 12, "arena"),
    ],
)
def test_malformed_data_are_refused(path, value, message):
    data = json.loads(pointwise().to_json())
    edit(path, value)(data)
    with pytest.raises(ProgramError, match=message):
        Program.from_data(data)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"format": 1}', '{"format": 1, "inputs": 7}'])
def test_text_that_is_no_program_is_refused(text):
    with pytest.raises(ProgramError):
        Program.from_json(text)


def test_every_truncation_is_refused():
    text = everything().to_json()
    for n in range(0, len(text), 7):
        with pytest.raises(ProgramError):
            Program.from_json(text[:n])


# ------------------------------------------------------------------------------------------------------------- values
def numbers(table: ValueTable, symbols: dict[int, int | float]) -> list:
    """The values of a table, by Python, given those of its inputs."""
    out = []
    for i, (op, *args) in enumerate(table.values):
        out.append(args[0] if op == "const" else symbols[i] if op == "input" else apply(op, *(out[a] for a in args)))
    return out


@pytest.mark.parametrize("a, b", [(7, 3), (-7, 3), (7, -3), (0, 5), (12, 4)])
def test_expressions_become_values(a, b):
    x, y = sym("x"), sym("y")
    exprs = [x + y * 3 - 2, x * y + x, x // 3, x % 5, expr.min_(x, y, 4), expr.max_(x, y), expr.eq(x, y), expr.le(x, y),
             expr.where_(expr.lt(x, y), x, y), expr.to_int(expr.to_float(x) / 2), expr.and_(expr.lt(x, 9), expr.lt(y,
             9), expr.lt(x, y)), expr.floor_(expr.to_float(x) * 0.5), x // y, x % y, x * x * y, expr.or_(expr.eq(x,
             1), expr.eq(y, 3))]  # fmt: skip
    t = ValueTable()
    names = {t.add("input", 0): a, t.add("input", 1): b}
    t.bind("x", 0)
    t.bind("y", 1)
    where = [t.expr(e) for e in exprs]
    got = numbers(t, names)
    assert [got[i] for i in where] == [expr.evaluate(e, {"x": a, "y": b}) for e in exprs]


def test_equal_values_have_one_entry():
    t = ValueTable()
    t.bind("x", t.add("input", 0))
    x = sym("x")
    assert t.expr(x * 4 + 1) == t.expr(1 + x * 4)
    assert t.const(1) != t.const(1.0)
    assert len(t.values) == 6


def test_an_unbound_symbol_is_an_error():
    with pytest.raises(KeyError):
        ValueTable().expr(sym("nobody"))


def test_values_that_do_not_exist():
    for op, *args in [("mul", 2**62, 2), ("add", 2**63 - 1, 1), ("floordiv", 1, 0), ("mod", 1, 0), ("fdiv", 1.0, 0.0)]:
        with pytest.raises(Failed):
            apply(op, *args)
