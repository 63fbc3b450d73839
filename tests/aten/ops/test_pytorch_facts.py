"""Calls, good and bad, are answered as PyTorch answers them."""

import re
import warnings

import numpy as np
import pytest

import aten
import weft
from tests.aten.ops.facts import ERRORS, VALUES


def run(text):
    names = {
        "W": weft,
        "F": weft.nn.functional,
        "z": aten.zeros,
        "i64": aten.int64,
        "np": np,
        "inf": float("inf"),
        "nan": float("nan"),
    }
    *statements, expression = text.split(";;")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in statements:
            exec(statement, names)
        return eval(expression, names)


def shown(x):
    if isinstance(x, aten.Tensor):
        return (x.dtype.name, list(x.shape), x.tolist() if x.numel() < 20 else None)
    return x


@pytest.mark.parametrize("text,expected", VALUES)
def test_values(text, expected):
    result = run(text)
    result = [shown(x) for x in result] if isinstance(result, (tuple, list)) else shown(result)
    assert re.sub(r"\s+", " ", str(result).replace("torch", "weft")) == expected


@pytest.mark.parametrize("text,kind,message", ERRORS)
def test_errors(text, kind, message):
    with pytest.raises(kind) as caught:
        run(text)
    if message is not None:
        first = re.sub(r"\s+", " ", str(caught.value).replace("torch", "weft").split("\n")[0]).strip()
        assert first == message
