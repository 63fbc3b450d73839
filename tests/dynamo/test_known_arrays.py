"""Arrays made of constants are known while tracing: their items are numbers of the program, as sizes and bounds of slices are."""

import numpy as np
import pytest

import weft


def parts_by_sums(x, sizes):
    ends = np.cumsum([0] + sizes)
    return [x[:, ends[i] : ends[i + 1]] for i in range(len(sizes))]


def parts_by_items(x, sizes):
    return x.split(list(np.diff([0, 2, 6])), 1)[1], [x[:, e] for e in np.array([0, 3])]


def shaped(x, sizes):
    zeros = weft.zeros(np.array([2, 3])[0], 2)
    return x.reshape(tuple(np.array([3, 4]))), x.view(np.prod([2, 3]), 2), zeros + x[0, np.argmax(sizes)]


@pytest.mark.parametrize("run", [parts_by_sums, parts_by_items, shaped])
def test_items_are_numbers(run):
    x = weft.arange(12.0).view(2, 6)
    got, want = weft.compile(run, fullgraph=True, backend="eager")(x, [1, 2, 3]), run(x, [1, 2, 3])
    weft.testing.assert_close(got, want, rtol=0, atol=0)


def written(x):
    ends = np.cumsum([1, 2])
    ends[0] = 5
    return x + ends[0]


def written_through_a_view(x):
    ends = np.cumsum([1, 2])
    ends[1:] += 7
    return x + ends[1]


def written_as_a_tensor(x):
    ends = np.cumsum([1, 2])
    weft.from_numpy(ends).add_(10)
    return x + ends[1]


def ends_of_its_own(x):
    ends = np.cumsum([1, 2])
    ends[0] = int(ends[0]) + 1
    return x + weft.from_numpy(ends), ends


@pytest.mark.parametrize("run", [written, written_through_a_view, written_as_a_tensor, ends_of_its_own])
def test_what_was_written_is_known_no_more(run):
    compiled = weft.compile(run, backend="eager")
    for _ in range(2):
        got, want = compiled(weft.zeros(2)), run(weft.zeros(2))
        for a, b in zip(got, want):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_an_index_that_is_too_large():
    with pytest.raises(IndexError):
        weft.compile(lambda x: x + np.cumsum([1, 2])[2], backend="eager")(weft.zeros(1))
