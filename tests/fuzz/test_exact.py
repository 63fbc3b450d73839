"""Programs in exact mode equal eager bit for bit; `python -m tests.fuzz.exact` runs ranges of seeds."""

from __future__ import annotations

from tests.fuzz import budget
from tests.fuzz.exact import Program, difference

MOST = 60


def test_exact():
    differ = {}
    for seed, known in budget.seeds("exact", 12, MOST):
        program = Program(seed)
        found = difference(program, seed, threads=1 + seed % 2, dynamic=seed % 5 == 4)
        if found is not None and not known:
            differ[seed] = f"{found}\n{program.text}"
    assert not differ, "\n".join(f"seed {seed}: {text}" for seed, text in differ.items())
