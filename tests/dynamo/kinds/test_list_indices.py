"""A list that indexes an array is an array to NumPy, whatever a tensor makes of it."""

from __future__ import annotations

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.usefixtures("fresh")
LISTS = [
    "[0, 2]", "[]", "[[0, 1], [1, 0]]", "[(0, 1)]", "[[0], [2]]", "[True, False, True]", "[True, 1]", "[[True, False, True]]",
    "[slice(None), 1]", "[slice(0, 2)]", "[None, 0]", "[..., 0]", "[0, [1]]", "[1.0]", "[[0, 1], slice(None)]",
    "[np.array([0, 1]), np.array([1, 0])]", "[np.int64(1), 0]", "[x.ndim - 1, 0]", "([0, 1], [[0], [1]])", "(0, [slice(None)])",
]  # fmt: skip


def outcome(f):
    x = np.arange(12.0).reshape(3, 4)
    try:
        made = f(x)
    except (IndexError, TypeError, ValueError) as e:
        return type(e), str(e), x.tolist()
    return made.shape, made.tolist(), x.tolist()


@pytest.mark.parametrize("index", LISTS)
def test_reads_and_writes(index):
    names: dict = {"np": np}
    exec(f"def read(x):\n    return x[{index}]\ndef write(x):\n    x[{index}] = 7\n    return x", names)
    for f in (names["read"], names["write"]):
        assert outcome(weft.compile(f)) == outcome(f)
