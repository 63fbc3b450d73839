"""What NumPy gives back as it is, the array or a scalar of it, is that object where the function was compiled, too."""

from __future__ import annotations

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.usefixtures("fresh")
ARRAYS = {
    "number": np.array(3.0),
    "row": np.arange(4.0),
    "rows": np.arange(12.0).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "one": np.ones((1, 1)),
}
FUNCTIONS = {
    "ascontiguousarray": lambda x: np.ascontiguousarray(x),
    "ascontiguousarray of another dtype": lambda x: np.ascontiguousarray(x, np.float32),
    "atleast_1d": lambda x: np.atleast_1d(x),
    "atleast_2d": lambda x: np.atleast_2d(x),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "squeeze": lambda x: np.squeeze(x),
    "method squeeze": lambda x: x.squeeze(),
    "squeeze of a row": lambda x: x[:1].squeeze() if x.ndim else x,
    "no difference": lambda x: np.diff(x, 0) if x.ndim else x,
    "float32": lambda x: np.float32(x),
    "int64": lambda x: np.int64(x),
    "bool": lambda x: np.bool_(x),
    "clip without bounds": lambda x: np.clip(x, None, None),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "nan_to_num of integers": lambda x: np.nan_to_num(x.astype(int)),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=list(ARRAYS))
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_the_array_itself_or_a_scalar(f, array):
    plain, compiled = f(array), weft.compile(f)(array)
    assert type(compiled) is type(plain) and compiled.dtype == plain.dtype and compiled.shape == plain.shape
    assert np.array_equal(compiled, plain)
    assert (compiled is array) == (plain is array)


def test_a_turned_array_is_copied_where_rows_are_asked_for():
    f = lambda x: np.ascontiguousarray(x[::-1])
    compiled, x = weft.compile(f), np.arange(4.0)
    made = compiled(x)
    made[0] = 9
    assert made.strides == (8,) and x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("args", [(0.1, 0, 0), (np.float64(0.1), 0, 0), (1, 1e-3), ([0.1, 0.2, 0.3], 0, 0)])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_isclose_to_a_python_number_is_in_the_arrays_dtype(dtype, args):
    f = lambda x: (np.isclose(x, *args), np.isclose(args[0], x, *args[1:]))
    x = np.array([0.1, 0.2, 0.3]).astype(dtype)
    for plain, compiled in zip(f(x), weft.compile(f)(x)):
        assert plain.tolist() == compiled.tolist()
