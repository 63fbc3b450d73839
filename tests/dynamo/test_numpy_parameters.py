"""A traced NumPy function takes what NumPy's own takes: the same parameters, in the same places, under the same names."""

from __future__ import annotations

import inspect
from inspect import Parameter

import numpy as np
import pytest

import weft
from dynamo import on_demand
from dynamo.variables.ndarray import ArrayVariable
from dynamo.variables.ndarray_table import FUNCTIONS

pytestmark = pytest.mark.usefixtures("fresh")
on_demand.load(np.sum)  # (which declares all rows)
PLACED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def signature_of(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        return None  # (what older NumPys do not tell of functions written in C)


def method_rule(name):
    bound = getattr(ArrayVariable, ArrayVariable.rules[name])
    return inspect.getclosurevars(inspect.unwrap(bound)).nonlocals.get("rule")


METHODS = {name: getattr(np.ndarray, name) for name in ArrayVariable.rules if hasattr(np.ndarray, name) and method_rule(name)}
ROWS = [(f"np.{f.__name__}", f, rule) for f, rule in FUNCTIONS.items() if not isinstance(f, np.ufunc)]
ROWS += [(f"ndarray.{name}", f, method_rule(name)) for name, f in METHODS.items()]


def test_methods_are_found():
    assert {"sum", "astype", "clip", "swapaxes"} <= METHODS.keys()


@pytest.mark.parametrize("name, function, rule", ROWS, ids=[name for name, *_ in ROWS])
def test_a_rule_has_numpys_parameters(name, function, rule):
    theirs = signature_of(function)
    if theirs is None or any(p.kind is Parameter.VAR_POSITIONAL for p in theirs):
        return
    named = {p.name for p in theirs if p.kind is not Parameter.POSITIONAL_ONLY}
    open_ended = any(p.kind is Parameter.VAR_KEYWORD for p in theirs)
    theirs = [p for p in theirs if p.kind in PLACED]
    for place, ours in enumerate(list(inspect.signature(rule).parameters.values())[1:]):
        if ours.kind in PLACED:
            assert place < len(theirs) or open_ended, f"{name} has no parameter {ours.name} at {place}"
        if ours.kind is Parameter.POSITIONAL_OR_KEYWORD:
            assert open_ended or (ours.name in named and theirs[place].name == ours.name), f"{name} has no {ours.name} at {place}"
        if ours.kind is Parameter.KEYWORD_ONLY:
            assert open_ended or ours.name in named, f"{name} has no {ours.name}="


def outcome(f, *args):
    try:
        made = f(*args)
    except (TypeError, ValueError, IndexError) as e:
        return type(e), str(e)
    facts = (getattr(made, name, None) for name in ("dtype", "strides"))
    return type(made), *facts, np.asarray(made).tolist(), [a.tolist() for a in args]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.clip(x, 2, 4, y),
        lambda x, y: np.clip(x, 2, 4, None),
        lambda x, y: x.astype("f4", "F"),
        lambda x, y: np.asarray(x, None, "F"),
        lambda x, y: np.array(x, float, False),
        lambda x, y: np.array([1, 2], copy=False),
        lambda x, y: np.asarray(x, np.float16, copy=False),
        lambda x, y: np.array(x, copy=False) is x,
        lambda x, y: np.ascontiguousarray(x) is x,
        lambda x, y: np.std(x, 0, np.float32),
        lambda x, y: x.var(dtype=np.float32),
        lambda x, y: np.max(x, dtype="f4"),
        lambda x, y: x.any(dtype=bool),
        lambda x, y: np.prod(x, 0, None, None, True),
        lambda x, y: x.transpose(()),
        lambda x, y: np.identity(3, 4),
        lambda x, y: np.linalg.norm(x[None], axis=(0, 1, 2)),
        lambda x, y: np.take_along_axis(x, np.array([[0.0]]), 0),
        lambda x, y: np.vstack(x, n="hstack"),
        lambda x, y: np.sum(x=x),
    ],
)
def test_places_and_names(f):
    def args():
        return np.arange(12.0).reshape(3, 4), np.zeros((3, 4))

    assert outcome(weft.compile(f), *args()) == outcome(f, *args())


def test_linspace_with_its_step_by_place():
    assert weft.compile(lambda x: np.linspace(0, 1, 5, True, True)[1] + x)(np.ones(2)).tolist() == [1.25, 1.25]
