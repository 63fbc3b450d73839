"""A fuzzer's run goes on behind seeds that crash, hang or swallow its alarm (drive.py)."""

import time

import pytest

from tests.fuzz import drive


def test_a_hang_is_a_finding_and_the_run_goes_on():
    told = drive.run("tests.fuzz.subject_that_hangs", 60, 0, lambda text: None, most=3, limits=drive.Limits(1.5, 30))
    assert told.seeds == 3 and told.void == 0
    assert list(told.reports) == ["seed 1 does not end", "cause"]
    assert told.reports["seed 1 does not end"][0] == 1 and "subject_that_hangs.py" in told.reports["seed 1 does not end"][1]


def test_seeds_that_are_known_are_left_out():
    told = drive.run("tests.fuzz.subject_that_hangs", 60, 2, lambda text: None, most=1, known={2})
    assert told == (1, 0, {})


def test_an_alarm_that_is_swallowed_comes_again():
    with pytest.raises(drive.OutOfTime), drive.alarm(0.1):
        try:
            while True:
                time.perf_counter()
        except:  # noqa: E722
            while True:
                time.perf_counter()


def test_an_alarm_within_except_star_is_one():
    with pytest.raises(drive.OutOfTime), drive.alarm(0.1):
        try:
            raise ExceptionGroup("g", [ValueError()])
        except* ValueError:
            while True:
                time.perf_counter()
