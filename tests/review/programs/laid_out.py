"""NumPy arrays that do not lie row by row: what is a view of a result, and what a copy."""

import warnings

import numpy as np

from tests.review.harness import prog, told

COLUMNS = np.asfortranarray(np.arange(6.0).reshape(2, 3))


def written(C, make):
    def f(a):
        b = make(a)
        c = b.reshape(-1)
        c += 100
        return b, c, b.flags.f_contiguous

    return [C(f)(COLUMNS), C(f)(np.ascontiguousarray(COLUMNS)), C(f)(COLUMNS[:, ::2])]


@prog
def copies(C):
    return written(C, lambda a: np.copy(a)), written(C, lambda a: a.copy()), written(C, lambda a: np.array(a))


@prog
def joined(C):
    return written(C, lambda a: np.concatenate([a, a])), written(C, lambda a: np.stack([a, a])), written(C, lambda a: np.hstack([a, a]))


@prog
def ordered(C):
    return written(C, lambda a: np.sort(a)), written(C, lambda a: np.cumsum(a, 0)), written(C, lambda a: np.diff(a))


@prog
def of_two_orders(C):
    return written(C, lambda a: a + a.copy()), written(C, lambda a: np.maximum(a, a.copy()))


@prog
def backwards(C):
    return written(C, lambda a: a[::-1] + 1), written(C, lambda a: np.rot90(a) * 2), written(C, lambda a: a[:, [0, 1]])


@prog
def warned_in_its_line(C):
    def f(s):
        return s + s, s * np.int8(2)

    c = C(f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        got = c(np.int8(100)), c(np.int8(100))
    return got, {w.filename == __file__ for w in seen}


@prog
def no_such_dtype(C):
    return told(C(lambda a: a.astype("nope")), COLUMNS)
