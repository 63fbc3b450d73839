"""The programs of benchmarks/capture are captured whole, for varying sizes, with the results and gradients of plain ones."""

from __future__ import annotations

import importlib

import pytest

import weft
from benchmarks.capture import FILES, PROGRAMS
from benchmarks.capture.run import Counting, equal, tensors

with weft.as_torch() as torch:
    for _name in FILES:
        importlib.import_module(f"benchmarks.capture.{_name}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_for_all_sizes(name):
    program, backend = PROGRAMS[name], Counting()
    with weft.as_torch() as torch:
        compiled = torch.compile(program.function, backend=backend, fullgraph=True)
        for n in (9, 17, 5, 30, 12):
            compiled(*tensors(torch, program, n, False))
    assert backend.graphs <= 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_gradients_are_those_of_plain_programs(name):
    program = PROGRAMS[name]
    with weft.as_torch() as torch:
        compiled = torch.compile(program.function, backend="aot_eager", fullgraph=True)
        assert all(equal(torch, program, compiled, n) for n in (6, 11))


def test_there_are_forty_programs():
    assert len(PROGRAMS) >= 40
