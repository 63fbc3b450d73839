"""Ops whose results depend on values: captured where a graph can hold them, else left to eager, and never taken for errors."""

import warnings

import pytest

import weft
import weft.nn.functional as F
from tests.dynamo.kinds.alike import alike

X = weft.tensor([3.0, 0.0, 1.0, 1.0])
CAPTURED = {
    "item": lambda x: x + x[0].item(),
    "a number alone": lambda x: x[2].item(),
    "sorter": lambda x: weft.searchsorted(x, x, sorter=weft.tensor([1, 2, 3, 0])),
    "one value where a mask says": lambda x: x.index_put((x > 0,), weft.tensor(7.0)),
    "added where a mask says": lambda x: x.reshape(2, 2).index_put((weft.tensor([True, False]),), weft.tensor([7.0]), True),
    "an old name": lambda x: F.upsample_nearest(x[None, None], 8),
}
LEFT = {
    "sizes in a tensor": lambda x: weft.tensor_split(x, weft.tensor([1, 2])),
    "histogram": lambda x: weft.histogram(x, 3, density=True),
    "several values where a mask says": lambda x: x.index_put((x > 0,), weft.tensor([7.0, 8.0, 9.0])),
}


def same(found, expected):
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    return weft.equal(found, expected) if isinstance(expected, weft.Tensor) else found == expected


def told(function):
    """The result, and the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = function(X)
    return result, [(w.category, str(w.message), w.lineno) for w in seen]


def plain(function):
    return told(function)[0]


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_whole(name):
    (found, said), (expected, warned) = told(weft.compile(CAPTURED[name], fullgraph=True)), told(CAPTURED[name])
    assert same(found, expected)
    assert said == warned


@pytest.mark.parametrize("name", LEFT)
def test_left_to_eager(name):
    assert same(weft.compile(LEFT[name])(X), plain(LEFT[name]))


def test_a_mask_of_other_sizes_is_refused():
    for run in (lambda f: f, weft.compile):
        with pytest.raises(IndexError, match="mask \\[3\\] at index 0"):
            run(lambda x: x.index_put((weft.tensor([True, False, True]),), weft.tensor(1.0)))(X)


NO_KEYWORDS = ["d.get('a', default=2)", "d.setdefault(key='z', default=1)", "d.popitem(last=False)", "[1, 2].pop(index=0)"]


@pytest.mark.parametrize("text", NO_KEYWORDS)
def test_methods_that_take_no_keywords(text):
    space = {}
    exec(f"def f(x, d):\n    try:\n        return x + 1, {text}\n    except TypeError as e:\n        return x + 1, str(e)", space)
    found = [f(weft.ones(2), {"a": 1})[1] for f in (space["f"], weft.compile(space["f"], backend="eager"))]
    assert found[0] == found[1] and "takes no keyword arguments" in found[0]


class Silent(complex):
    def __getattribute__(self, name):
        return None


SILENT = Silent(1, -0.0)


def test_a_number_whose_class_answers_for_its_parts_is_the_number_that_it_holds():
    def f(x):
        try:
            return list(zip(SILENT, SILENT))
        except TypeError as e:
            return x + 1, str(e), SILENT * 2, SILENT == 1

    alike(f, (weft.ones(2),))
