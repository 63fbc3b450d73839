"""`weft.autograd` as a module: names that are both a function and a module."""

import importlib
import types

import pytest

import weft


def test_gradcheck_stays_a_function():
    module = importlib.import_module("weft.autograd.gradcheck")
    weft.autograd.gradcheck = module
    assert callable(weft.autograd.gradcheck) and weft.autograd.gradcheck is module.gradcheck
    with pytest.raises(AttributeError, match="gradcheck is a function"):
        weft.autograd.gradcheck = types.ModuleType("gradcheck")
