"""A short soak of captured code; `python -m tests.fuzz.soak` goes on for longer, in more threads."""

import warnings

from tests.fuzz.budget import seconds
from tests.fuzz.soak import soak


def test_threads_exceptions_recursion_and_generators():
    with warnings.catch_warnings():
        done = soak(seconds(5), 8)
    assert done.rounds > 0 and done.wrong == []
