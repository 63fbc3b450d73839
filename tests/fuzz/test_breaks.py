"""The programs of the review with breaks put anywhere (breaks.py); `python -m tests.fuzz.breaks` runs for longer."""

from tests.fuzz import breaks, budget
from tests.review import harness

CASE = breaks.Case("functions", "cells_reached_in_two_ways", (breaks.Change(0, "loop"), breaks.Change(2, "break")))


def stingy(f=None, **options):
    """A compiler that loses the first call."""
    calls = []
    compiled = harness.identity(f)
    return lambda *args: compiled(*args) if calls or calls.append(1) else None


def test_a_difference_is_found_and_reduced():
    assert breaks.differs(CASE, harness.identity) is None
    assert breaks.differs(CASE, stingy) is not None
    assert breaks.minimal(CASE, stingy).changes == ()


def test_programs_are_changed():
    text = breaks.changed(CASE)
    assert text.count("for _once in (0,):") == 1 and text.count("_weft._dynamo.graph_break()") == 1


def test_random_breaks():
    assert budget.differences("breaks", 15, 20) == ""
