"""Programs in which data decides sizes, with gradients (staged.py); `python -m tests.fuzz.staged` runs for longer."""

from tests.fuzz import budget


def test_staged():
    assert budget.differences("staged", 20, 6) == ""
