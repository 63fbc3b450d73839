"""Programs in exact mode equal eager bit for bit; `python -m tests.fuzz.exact` runs for longer."""

from tests.fuzz import budget


def test_exact():
    assert budget.differences("exact", 12, 60) == ""
