"""Fills of places in expanded tensors, which PyTorch writes with a warning. Expected: PyTorch 2.13."""

import pytest

import weft

WRITES = {
    "index_fill_": (lambda v: v.index_fill_(0, weft.tensor([0]), 3.0), [3.0, 1.0, 2.0]),
    "index_fill_ of a tensor": (lambda v: v.index_fill_(0, weft.tensor([2]), weft.tensor(3)), [0.0, 1.0, 3.0]),
    "masked_fill_": (lambda v: v.masked_fill_(v > 0, 9.0), [0.0, 9.0, 9.0]),
    "masked_fill_ of a tensor": (lambda v: v.masked_fill_(v > 1, weft.tensor(9)), [0.0, 1.0, 9.0]),
    "masked_fill_ of one of two": (lambda v: v.masked_fill_(weft.tensor([True, False]), 9.0), [9.0, 9.0, 9.0]),
    "a mask": (lambda v: v.__setitem__(v > 0, 3.0), [0.0, 3.0, 3.0]),
    "an index": (lambda v: v.__setitem__(weft.tensor([0]), 3.0), [3.0, 1.0, 2.0]),
}


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_places_of_expanded_tensors_are_filled(name, compiled):
    write, expected = WRITES[name]

    def f(x):
        y = x * 1
        write(y.expand(3, 2))
        return y

    weft.compiler.reset()
    x = weft.arange(3.0).reshape(3, 1)
    assert (weft.compile(f) if compiled else f)(x).flatten().tolist() == expected


@pytest.mark.parametrize("name", ["index_fill_", "masked_fill_", "a mask"])
def test_they_are_warned_of(name):
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
        WRITES[name][0](weft.arange(3.0).reshape(3, 1).expand(3, 2))


REFUSED = {
    "all of it": lambda v: v.__setitem__(..., 3),
    "rows": lambda v: v.__setitem__(slice(0, 2), weft.tensor(3.0)),
    "a column": lambda v: v.__setitem__((slice(None), 0), 3.5),
    "a new dim": lambda v: v.__setitem__(None, weft.tensor([3.0])),
    "True": lambda v: v.__setitem__(True, 3),
    "fill_ with a tensor": lambda v: v.fill_(weft.tensor(3.0)),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_what_shows_elements_twice_is_not_assigned_to(name, compiled):
    def f(x):
        y = x * 1
        REFUSED[name](y.expand(3, 4))
        return y

    weft.compiler.reset()
    for x in (weft.zeros(1, 4), weft.zeros(1, 4, requires_grad=True)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
            (weft.compile(f) if compiled else f)(x)


def test_what_shows_each_once_is():
    x = weft.zeros(1, 4)
    view = x.expand(3, 4)
    view[0] = 1
    view[0:1, 2:] = weft.tensor(2.0)
    assert x.tolist() == [[1, 1, 2, 2]] and view.fill_(3).tolist() == [[3] * 4] * 3 and view.zero_().sum() == 0
