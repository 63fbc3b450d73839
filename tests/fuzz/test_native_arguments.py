"""Native code is handed what it does not expect, and nothing kills or hangs the process. Long: the modules' own mains."""

import pytest

from tests.fuzz import attempts, native_arguments
from tests.fuzz.budget import seconds

IN_THE_SUITE = [topic for topic in attempts.topics() if topic not in ("threads", "sharing")]  # a minute, most of it waiting


@pytest.mark.parametrize("topic", IN_THE_SUITE)
def test_programs_that_once_killed_the_process(topic):
    assert attempts.failures(attempts.read(topic), interrupt=0.4) == []


def test_every_entry_point_with_arguments_it_does_not_expect():
    made, bad = native_arguments.fuzz(seconds(15), seed=0)
    assert made and bad == []
