"""Python numbers beyond an array's dtype, over arrays of every dtype."""

import numpy as np

from tests.review.harness import check_calls

VALUES = [
    (np.uint8, 300),
    (np.int8, -200),
    (np.uint8, -1),
    (np.int32, 2**40),
    (np.int64, 2**63),
    (np.uint64, -1),
    (np.float16, 1e6),
    (np.float32, 1e60),
    (bool, 2),
    (np.int64, 2**70),
    (np.uint8, 2**70),
]
OPERATIONS = {
    "add": lambda a, v: a + v,
    "radd": lambda a, v: v - a,
    "mul": lambda a, v: a * v,
    "cmp": lambda a, v: a < v,
    "rcmp": lambda a, v: v < a,
    "greater": lambda a, v: a > v,
    "eq": lambda a, v: a == v,
    "where": lambda a, v: np.where(a > 0, a, v),
}


def case(operation, dtype, value, dynamic):
    """With the value as a constant of the program, or as an argument that was small before."""

    def check(backend):
        array = lambda: np.array([1, 0, 2], dtype=dtype)
        if dynamic:
            return check_calls(operation, [lambda v=v: (array(), v) for v in (1, 2, value, 3, value)], backend)
        return check_calls(lambda a: operation(a, value), [lambda: (array(),)] * 2, backend)

    return check


def cases() -> dict:
    return {
        f"{op}|{np.dtype(dtype)}|{value}{'|after_small_ones' if dynamic else ''}": case(operation, dtype, value, dynamic)
        for op, operation in OPERATIONS.items()
        for dtype, value in VALUES
        for dynamic in (False, True)
    }
