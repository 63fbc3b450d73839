"""`add_at` is `np.add.at`, bit for bit."""

import numpy as np
import pytest

from aten import _native
from aten.ops.accumulate import add_at

DTYPES = ["float32", "float64", "int64", "int32", "int16", "uint8", "float16", "complex64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ["one", "rows", "pair", "broadcast", "transposed", "empty", "slices", "scalar"])
def test_is_numpys(case, dtype):
    rng = np.random.default_rng(0)
    out = (rng.standard_normal((7, 5, 3)) * 9).astype(dtype)
    rows, columns = rng.integers(-7, 7, (4, 6)), rng.integers(0, 5, (6,))
    where, values = {
        "one": ((rows.reshape(-1),), (24, 5, 3)),
        "rows": ((rows,), (4, 6, 5, 3)),
        "pair": ((rows, columns), (4, 6, 3)),
        "broadcast": ((rows, columns), (6, 1)),
        "transposed": ((rows.T,), (6, 4, 5, 3)),
        "empty": ((rows[:0],), (0, 6, 5, 3)),
        "slices": ((slice(None), columns), (7, 6, 3)),
        "scalar": ((rows, columns, np.array(2)), ()),
    }[case]
    added = (rng.standard_normal(values) * 9).astype(dtype)
    if case == "transposed":
        out = np.ascontiguousarray(out.T).T
    expected = out.copy()
    np.add.at(expected, where, added)
    add_at(out, where, added)
    assert out.tobytes() == expected.tobytes()


def test_out_of_range():
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        add_at(np.zeros(3), (np.array([0, 3]),), np.ones(2))


def test_native_checks_what_it_is_given():
    out, index, values = (_native.from_numpy(a) for a in (np.zeros(3), np.zeros(2, np.int64), np.ones(2)))
    _native.at_places("add", out, (index,), values)
    assert out.tolist() == [2, 0, 0]
    for bad in (((values,), values), ((), values), ((index, index), values), ((index,), index), ((index,), out)):
        with pytest.raises(RuntimeError, match="at_places: expected"):
            _native.at_places("add", out, *bad)
