"""Compiled equals plain in the programs of the review, and in a share of the pairs.

Cases that are known to differ (known.txt, argued.txt) must differ: whoever mends one takes its line out.
`python -m tests.review --all` runs them all and shows both sides.
"""

import os
import zlib

import pytest

from tests.review import groups, known, runner

SHARE = int(os.environ.get("WEFT_REVIEW_SHARE", "6"))  # one pair in so many


@pytest.mark.parametrize("group", groups.PROGRAMS)
def test_programs(group):
    check(group, runner.names_of(group))


@pytest.mark.parametrize("group", groups.PAIRS)
def test_pairs(group):
    names = runner.names_of(group)
    check(group, [n for n in names if zlib.crc32(n.encode()) % SHARE == 0])


def check(group: str, names: list[str]) -> None:
    expected = known.known() | known.argued()
    wrong = []
    for answer in runner.run(group, "eager", names):
        full = f"{group}.{answer['name']}"
        if not answer["same"] and full not in expected:
            wrong.append(f"{full} differs\n  plain    {answer['plain'][:2000]}\n  compiled {answer['compiled'][:2000]}")
        elif answer["same"] and full in expected:
            wrong.append(f"{full} is the same now: take it out of known.txt")
    assert not wrong, "\n".join(wrong)


def test_the_lists_name_cases():
    there = {f"{g}.{n}" for g in groups.PROGRAMS + groups.PAIRS for n in runner.names_of(g)}
    for file in ("known.txt", "argued.txt"):
        for name, reason in known.read(file).items():
            assert name in there or name.startswith("foreign."), f"{file}: there is no case {name}"
            assert reason or file == "known.txt", f"{file}: {name} is without a reason"


def test_a_child_that_dies_costs_its_case_only():
    told = list(runner.run("selfcheck", "eager", ["fine", "dies", "fine too", "differs"]))
    assert [(t["name"], t["same"]) for t in told] == [("fine", True), ("dies", False), ("fine too", True), ("differs", False)]
    assert "died with" in told[1]["compiled"]
