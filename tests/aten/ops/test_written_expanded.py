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
