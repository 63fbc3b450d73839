"""Programs over tensors of every layout, whose sizes change (layouts.py); `python -m tests.fuzz.layouts` runs for longer."""

from tests.fuzz import budget


def test_layouts():
    assert budget.differences("layouts", 12, 20) == ""
