"""Functions of arrays with numbers that are none, or no places: compiled they say what NumPy says, without a word more."""

import numpy as np
import pytest

import weft

CALLS = {
    "eye": lambda y, a: np.eye(a),
    "repeat": lambda y, a: np.repeat(y, a),
    "split": lambda y, a: np.split(y, a),
    "diag": lambda y, a: np.diag(y, a),
    "diff": lambda y, a: np.diff(y, a),
    "std": lambda y, a: y.std(ddof=a),
    "full_like": lambda y, a: np.full_like(y, a),
    "roll": lambda y, a: np.roll(y, a),
    "sum": lambda y, a: y.sum(a),
    "rot90": lambda y, a: np.rot90(y[None], a),
    "argmax": lambda y, a: y.argmax(a),
    "mean": lambda y, a: y.mean(a),
    "prod": lambda y, a: y.prod(a),
    "prod of axes": lambda y, a: y[None].prod((0, a)),
    "full": lambda y, a: np.full(2, a).astype(str),
    "nan_to_num": lambda y, a: np.nan_to_num(y, nan=a),
    "dot": lambda y, a: str(y.dot(a)),
}


def answer(f, a):
    try:
        y, result = f(np.arange(4.0), a)
        return np.shape(result), repr(result), y.tolist()
    except Exception as e:
        return type(e).__name__, str(e)


@pytest.mark.filterwarnings("error:compiling", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CALLS)
def test_arguments_that_are_no_numbers(name):
    def f(x, a):
        y = x * 2
        return y, CALLS[name](y, a)

    with np.errstate(all="ignore"):
        for a in (2.5, 1.0, "a", None, -9, -1, (1, 2), np.float32(1.5), True, 1):
            weft.compiler.reset()
            assert answer(weft.compile(f, backend="eager"), a) == answer(f, a)
