"""Random programs, compiled and eager (fuzz.py)."""

import pytest

import weft
from tests.dynamo import fuzz


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_programs(first):
    for seed in range(first, first + 20):
        fuzz.check(seed)
    weft.compiler.reset()
