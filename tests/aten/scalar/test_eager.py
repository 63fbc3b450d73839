"""The eager loops are what the scalar vocabulary says."""

from aten import _native
from aten.op import registry
from aten.scalar.definitions import Definition
from aten.scalar.eager import entries, write
from aten.scalar.table import table


def test_codes_are_those_that_were_built():
    """The module was built from these rows, in this order."""
    built = _native.pointwise_rows()
    assert built == [(e.name, len(e.params) if isinstance(e, Definition) else e.arity) for e in entries()]


def test_rows_are_ops():
    """Every function with eager loops is an op, the form of one, or the derivative of one."""
    others = {e.name for e in entries()} - set(registry)
    assert {n for n in others if not n.endswith("_backward")} == {
        "gelu_tanh", "trigamma", "lerp_either", "huber", "smooth_l1", "size_of_difference", "square_of_difference",
    }  # fmt: skip
    assert {n.removesuffix("_backward") for n in others if n.endswith("_backward")} <= {*registry, *others}


def test_rows_have_texts_for_their_kinds():
    for row in table.values():
        for letter in row.eager:
            text = {"f": row.f, "h": row.f, "i": row.i, "b": row.b}[letter]
            assert text is not None or row.result == "bool", row.name


def test_writes_once(tmp_path):
    write(tmp_path)
    before = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    assert sorted(before) == ["pointwise_codes.h", "pointwise_floats.cpp", "pointwise_halves.cpp", "pointwise_integers.cpp"]
    write(tmp_path)
    assert before == {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
