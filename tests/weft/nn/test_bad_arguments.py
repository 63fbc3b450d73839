"""What modules and functions refuse: the class of PyTorch's error, and its words where they say the cause.

`bad_arguments.txt` has a call, the error's class and the start of its message a line; empty where the wording is our own.
"""

import builtins
import warnings
from pathlib import Path

import pytest

import weft
from weft import nn
from weft.nn import functional as F

CASES = [tuple(line.split(" => ")) for line in Path(__file__).with_name("bad_arguments.txt").read_text().splitlines()]
NAMES = {"torch": weft, "nn": nn, "F": F, "r": weft.ones, "i": lambda *sizes: weft.zeros(sizes, dtype=weft.int64)}


@pytest.mark.parametrize(("call", "error", "words"), CASES, ids=[case[0] for case in CASES])
def test_refused(call, error, words):
    expected = getattr(builtins, error)
    with warnings.catch_warnings(), pytest.raises(expected) as caught:
        warnings.simplefilter("ignore")
        eval(call, dict(NAMES))  # calls of this repository's own table
    assert type(caught.value) is expected
    assert words in str(caught.value)
