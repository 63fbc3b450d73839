"""Packages under other names."""

import importlib

import weft


def test_a_module_does_not_hide_the_function_of_its_name():
    module = importlib.import_module("weft.autograd.gradcheck")
    assert callable(weft.autograd.gradcheck) and module.gradcheck is weft.autograd.gradcheck
