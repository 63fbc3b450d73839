"""Random programs, compiled and eager (statements.py)."""

import pytest

import weft
from tests.fuzz import statements as fuzz


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs(first):
    for seed in range(first, first + 20):
        fuzz.check(seed)
    weft.compiler.reset()


# Each of these was wrong once: contexts, exceptions rebuilt in loops, messages with sizes, cells that change places.
@pytest.mark.parametrize("seed", [0, 5, 31, 38, 42, 45, 50, 61, 79, 85, 88, 99, 112])
def test_random_programs_that_handle_exceptions(seed):
    fuzz.check(seed, fuzz.Wild)
    weft.compiler.reset()


@pytest.mark.parametrize("seed", [1303, 1304])
def test_an_error_of_shapes_names_numbers(seed):
    fuzz.check(seed)
    weft.compiler.reset()
