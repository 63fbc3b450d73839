"""The pages in docs/traced: true of the Python that runs, and complete."""

import builtins
import itertools
import operator
import subprocess
import sys

import pytest

import weft
from dynamo import inventory


@pytest.mark.skipif(not inventory.path().exists(), reason="there is no page for this Python")
def test_the_page_is_what_would_be_written():
    done = subprocess.run([sys.executable, "-m", "dynamo.inventory", "--check"], cwd=inventory.FOLDER.parents[1])
    assert done.returncode == 0, "run `python -m dynamo.inventory` and look at what changed"


def test_every_object_of_the_modules_is_in_it():
    page = inventory.page()
    for module in (builtins, itertools, operator):
        for name in dir(module):
            of_site = type(getattr(module, name)).__module__ == "_sitebuiltins"  # exit, copyright …
            if not name.startswith("_") and not of_site:
                assert f"| {name} |" in page


@pytest.mark.parametrize(
    ("function", "what"), [(len, "traced"), (itertools.chain, "traced"), (bytearray, "broken"), (ValueError, "traced")]
)
def test_what_is_said_of_objects(function, what):
    assert inventory.fate(function).startswith(what)


def test_what_is_said_to_be_traced_is():
    numbers = [3, 1, 2, 1]

    def f(x):
        found = [operator.countOf(numbers, 1), operator.indexOf(numbers, 2), operator.inv(5), len(operator.concat(numbers, [1]))]
        found += operator.iconcat([1], [2])
        return operator.call(weft.add, x, sum(found))

    x = weft.zeros(2)
    weft.testing.assert_close(weft.compile(f, backend="eager", fullgraph=True)(x), f(x))


@pytest.mark.parametrize("call", [lambda: operator.indexOf([3, 1], 9), lambda: operator.concat(3, 4)])
def test_errors_are_those_of_python(call):
    with pytest.raises((ValueError, TypeError)) as plain:
        call()
    with pytest.raises(type(plain.value)) as traced:
        weft.compile(lambda x: x + call(), backend="eager")(weft.zeros(2))
    assert str(traced.value) == str(plain.value)
