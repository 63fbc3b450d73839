"""What CONTRIBUTING.md says that adding a kind, a method or an operator takes: one declaration."""

import operator
import uuid

import weft
from dynamo import operators
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.track import TABLE, kind

x = weft.ones(3)


def test_a_kind_is_one_declaration(monkeypatch):
    monkeypatch.delitem(TABLE, uuid.UUID, raising=False)

    @kind(uuid.UUID)
    def _uuid(frame, value, source):
        frame.world.equals(source, value)
        return ConstantVariable(value, source)

    def f(x, key):
        return x * key.int, key.hex, str(key), key == uuid.UUID(int=3)

    compiled = weft.compile(f, backend="eager")
    for n in (3, 3, 5):
        mine, plain = compiled(x, uuid.UUID(int=n)), f(x, uuid.UUID(int=n))
        assert weft.equal(mine[0], plain[0]) and mine[1:] == plain[1:]
    del TABLE[uuid.UUID]


def test_every_operator_of_python_is_a_row():
    inplace = {n for n in dir(operator) if n.startswith("i") and f"__{n}__" in dir(operator)}
    known = {f.__name__ for f in operators.ROWS}
    assert inplace - {"index", "inv", "invert", "iconcat"} <= known
    assert {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"} <= known
    assert {"eq", "ne", "lt", "le", "gt", "ge"} <= known
