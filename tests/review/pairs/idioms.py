"""The idioms, each called four times: two times alike, then with other values, then the first again."""

import importlib
import os
import random

import weft
from tests.review import harness

FILES = ["language", "values", "tensors"]


def case(module, f):
    def check(backend):
        def start():
            module.G, module.L = 0, []
            os.environ.pop("QQ", None)
            random.seed(0)

        arguments = [lambda k=k: (weft.arange(3.0) + k,) for k in (1, 1, 2, 1)]
        return harness.check_calls(f, arguments, backend, start, module)

    return check


def cases() -> dict:
    found = {}
    for file in FILES:
        module = importlib.import_module(f"tests.review.idioms.{file}")
        found |= {name: case(module, f) for name, f in harness.collect(module).items() if runs(module, f)}
    return found


def runs(module, f) -> bool:
    """Idioms of pandas where there is pandas."""
    return "pd" not in f.__code__.co_names or module.pd is not None
