"""Indices that do not count from the end, and places that are not there, as PyTorch 2.13 refuses them."""

import pytest

import weft

COPY = "index_copy_.*: index {} is out of bounds for dimension 0 with size {}"


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("place", [-1, -4, 3])
def test_index_copy_does_not_count_from_the_end(place, compiled):
    calls = [lambda x, i, s: x.index_copy(0, i, s) + 1, lambda x, i, s: x.clone().index_copy_(0, i, s)]
    for call in map(weft.compile, calls) if compiled else calls:
        with pytest.raises(IndexError, match=COPY.format(place, 3)):
            call(weft.zeros(3, 2), weft.tensor([1, place]), weft.ones(2, 2))


def test_index_copy_names_the_dimension():
    with pytest.raises(IndexError, match="index -1 is out of bounds for dimension 1 with size 4"):
        weft.zeros(3, 4).index_copy_(-1, weft.tensor([-1]), weft.ones(3, 1))


@pytest.mark.parametrize("place", [-2, 1])
def test_a_number_has_one_place(place):
    x, at = weft.zeros(()), weft.tensor([place])
    for call in (
        lambda: x.index_copy(0, at, weft.ones(1)),
        lambda: x.index_copy_(0, at, weft.ones(())),
        lambda: x.index_fill(0, at, 1.0),
        lambda: x.index_fill_(0, at, weft.tensor(1.0)),
        lambda: x.index_reduce(0, at, weft.ones(()), "prod"),
    ):
        with pytest.raises(IndexError):
            call()
    assert x.item() == 0
    assert x.index_fill(0, weft.tensor([-1]), 2.0).item() == 2
    assert x.index_fill(0, weft.tensor([], dtype=weft.int64), 2.0).item() == 0
    assert x.index_copy_(0, weft.tensor([0]), weft.ones(1)).item() == 1


@pytest.mark.parametrize("place", [-1, 3])
def test_index_reduce_says_index_error(place):
    for call in (weft.index_reduce, weft.compile(weft.index_reduce)):
        with pytest.raises(IndexError, match="index out of range in self"):
            call(weft.zeros(3), 0, weft.tensor([1, place]), weft.ones(2), "prod")
    assert weft.index_reduce(weft.ones(3), 0, weft.tensor([2, 0]), weft.tensor([2.0, 3.0]), "prod").tolist() == [3, 1, 2]


def test_flat_places_may_be_of_32_bits():
    places = weft.tensor([1, 0], dtype=weft.int32)
    assert weft.take_along_dim(weft.tensor([[1.0, 2.0]]), places).tolist() == [2, 1]
    with pytest.raises(RuntimeError, match="dtype of indices should be Long but got Int"):
        weft.take_along_dim(weft.ones(2), places, 0)
