"""Ops that refuse some data, made of other ops: what a device runs in the place of the CPU's kernel, here on the CPU."""

import pytest

import weft
from aten.op import registry
from inductor.cuda import counted


@pytest.mark.parametrize("lengths, total", [([1, 2], 3), ([1, 2], None), ([[1, 2], [3, 0]], 3)])
def test_lengths_of_runs_that_fit_are_copied(lengths, total):
    given = weft.tensor(lengths)
    made = counted.run(registry["lengths_of_runs"], (given, total))
    assert made.tolist() == lengths and made.data_ptr() != given.data_ptr()


@pytest.mark.parametrize("lengths, total", [([1, 1], 3), ([1, 4, -2], 3), ([4, -1], None), ([[1, 2], [3, 1]], 3)])
def test_lengths_of_runs_that_do_not_fit_are_refused(lengths, total):
    with pytest.raises(counted.Refused):
        counted.run(registry["lengths_of_runs"], (weft.tensor(lengths), total))
