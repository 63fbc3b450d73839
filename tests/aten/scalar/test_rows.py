"""A row of the scalar vocabulary that says its meaning is a whole op: nothing else declares it."""

import numpy as np
import pytest

from aten.op import registry
from aten.scalar.table import table
from dynamo.variables.ndarray_ufuncs import UFUNCS
from inductor.lowering.registry import load_all
from tests.samples import inputs

ROWS = [name for name, row in table.items() if row.numpy is not None]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_an_op_with_all_that_ops_have(name):
    row, op = table[name], registry[name]
    assert "pointwise" in op.tags and op.vjp_fn and op.jvp_fn and op.batch_fn and registry[name + "_"].base is op
    assert name in load_all() and inputs.samples(name)
    assert not isinstance(row.numpy, np.ufunc) or UFUNCS[row.numpy] == name


def test_rows_are_no_empty_promise():
    assert len(ROWS) > 25 and {"exp", "digamma", "rsqrt", "floor"} <= set(ROWS)
