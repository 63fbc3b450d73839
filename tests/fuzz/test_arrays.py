"""Random NumPy programs, compiled and plain (arrays.py)."""

import numpy as np

from tests.fuzz import arrays, budget

LINES, NAMES = ["v0 = a[0]", "v1 = a[0, 0]", "a[0] = 5"], ["a", "r", "v0", "v1"]


def test_a_difference_in_memory_is_found():
    given = [np.arange(16.0).reshape(4, 4)] * 2
    assert arrays.differs(LINES, NAMES, given, compiled=lambda f: f) is None
    copying = lambda f: lambda a, r: tuple(map(np.copy, f(a, r)))
    assert arrays.differs(LINES, NAMES, given, compiled=copying) is not None


def test_random_programs():
    assert budget.differences("arrays", 20, 40) == ""
