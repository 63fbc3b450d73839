"""weft.ops: ops by namespace, name and overload."""

import pytest

import weft


def test_overloads_are_the_op():
    x = weft.ones(2)
    assert weft.ops.aten.add.Tensor(x, 1).tolist() == [2, 2] == weft.ops.aten.add(x, 1).tolist()
    assert str(weft.ops.aten.clone.default) == "aten.clone.default"
    with pytest.raises(AttributeError):
        weft.ops.aten.no_such_op.default(x)


def test_the_type_of_an_element():
    from weft._prims_common import dtype_to_type

    assert [dtype_to_type(d) for d in (weft.bool, weft.uint8, weft.bfloat16, weft.complex64)] == [bool, int, float, complex]
