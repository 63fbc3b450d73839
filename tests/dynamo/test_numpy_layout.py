"""Results of NumPy functions lie in memory as NumPy lays them out, which decides what is a view of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.usefixtures("fresh")
ROWS = np.arange(24.0).reshape(4, 6)
ARRAYS = {
    "rows": ROWS,
    "columns": np.asfortranarray(ROWS),
    "permuted": np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "apart": ROWS[:, ::2],
}
FUNCTIONS = {
    "copy": lambda a: np.copy(a),
    "array": lambda a: np.array(a),
    "method copy": lambda a: a.copy(),
    "zeros_like": lambda a: np.zeros_like(a),
    "full_like": lambda a: np.full_like(a, 2),
    "concatenate": lambda a: np.concatenate([a, a]),
    "concatenate with a list": lambda a: np.concatenate([a[..., :2], np.ones((*a.shape[:-1], 1)).tolist()], -1),
    "vstack with a list": lambda a: np.vstack([a[:, :3], [[1, 2, 3]]]) if a.ndim == 2 else a,
    "asarray of a copy": lambda a: np.asarray(a, copy=True),
    "stack": lambda a: np.stack([a, a]),
    "sort": lambda a: np.sort(a),
    "cumsum": lambda a: a.cumsum(0),
    "mean": lambda a: a.mean(1),
    "diff": lambda a: np.diff(a),
    "backwards": lambda a: a[::-1] + 1,
    "flip": lambda a: np.flip(a) * 1,
    "rot90": lambda a: np.rot90(a) + 0,
    "flip of one row": lambda a: np.flip(np.broadcast_to(a, (2, *a.shape)), 0).clip(1, 5),
    "two orders": lambda a: a + a.copy(),
    "a list": lambda a: a[:, [0, 1]],
    "tile": lambda a: np.tile(a, (1,) * a.ndim),
    "spread": lambda a: a[..., None] * np.ones(3),
}


def strides(a: np.ndarray) -> list:
    return [s if n > 1 else None for s, n in zip(a.strides, a.shape)]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides_are_numpys(name, dynamic):
    f = FUNCTIONS[name]
    compiled = weft.compile(f, backend="eager", dynamic=dynamic)
    for kind, a in ARRAYS.items():
        wanted, got = f(a), compiled(a)
        assert strides(wanted) == strides(got) and np.array_equal(wanted, got), kind


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", ["copy", "concatenate", "sort", "two orders", "backwards"])
def test_a_write_through_reshape_reaches_what_it_is_a_view_of(name, backend):
    def f(a):
        b = made(a)
        c = b.reshape(-1)
        c += 100
        return b, c

    made = FUNCTIONS[name]
    for a in (ROWS, np.asfortranarray(ROWS)):
        wanted, got = f(a), weft.compile(f, backend=backend)(a)
        assert all(map(np.array_equal, wanted, got))


def test_a_dtype_that_is_none_is_numpys_error():
    def f(a):
        try:
            return a.astype("nope")
        except TypeError as e:
            return a + 1, str(e)

    assert weft.compile(f, backend="eager")(np.ones(2))[1] == "data type 'nope' not understood"


def test_capture_gives_no_warnings_of_its_own():
    def f(s):
        return s + s

    compiled = weft.compile(f, backend="eager")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert compiled(np.int8(100)) == -56
    assert len(told) <= 1
    assert all(w.filename == __file__ for w in told)


def test_numpy_warns_of_too_few_items():
    def f(a):
        return np.std(a), np.mean(a)

    compiled = weft.compile(f, backend="eager")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        compiled(np.zeros((0, 3)))
    words = [str(w.message) for w in told]
    assert "Degrees of freedom <= 0 for slice" in words and "Mean of empty slice" in words
    assert compiled(np.arange(4.0))[1] == 1.5


def test_an_int64_and_an_integer_beyond_it():
    def f(s, k):
        try:
            return s + k
        except OverflowError as e:
            return str(e)

    compiled = weft.compile(f, backend="eager", dynamic=True)
    for k in (2, 3, 2**70):
        assert compiled(np.int64(5), k) == f(np.int64(5), k)
