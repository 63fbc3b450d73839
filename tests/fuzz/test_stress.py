"""A short stress of free lists, parked memory and the pool; `python -m tests.fuzz.stress` goes on for longer."""

from tests.fuzz.budget import seconds
from tests.fuzz.stress import stress


def test_threads_that_share_tensors_lists_and_indices():
    done = stress(seconds(5))
    assert done.calls > 0 and done.wrong == []
