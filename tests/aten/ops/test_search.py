"""Searches in a sequence that another tensor sorts."""

import weft


def test_searchsorted_with_a_sorter_eager_and_compiled():
    find = lambda rows, values, order: weft.searchsorted(rows, values, sorter=order, side="right")
    rows, values, order = weft.tensor([5.0, 1.0, 3.0]), weft.tensor([3.0, 0.0, 9.0]), weft.tensor([1, 2, 0])
    for f in (find, weft.compile(find, fullgraph=True)):
        assert f(rows, values, order).tolist() == [2, 0, 3]
