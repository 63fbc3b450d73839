"""Ops whose places or sizes depend on the data of each element, inside vmap."""

import pytest

import weft


def test_masked_scatter():
    x, source = weft.arange(6.0).reshape(2, 3), weft.tensor([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
    mask = weft.tensor([[True, False, True], [False, True, False]])
    wanted = [[10.0, 1.0, 20.0], [3.0, 40.0, 5.0]]
    assert weft.vmap(weft.masked_scatter)(x, mask, source).tolist() == wanted
    assert weft.vmap(lambda a, m, s: a.clone().masked_scatter_(m, s))(x, mask, source).tolist() == wanted
    taken = lambda s, a, m: a.masked_scatter(m, s).sum()
    assert weft.vmap(weft.func.grad(taken))(source, x, mask).tolist() == [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


def test_histograms():
    x = weft.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 4.0]])
    counts, edges = weft.vmap(lambda row: weft.histogram(row, 2))(x)
    assert counts.tolist() == [[1.0, 2.0], [2.0, 1.0]] and edges.tolist() == [[0.0, 1.0, 2.0], [0.0, 2.0, 4.0]]


def test_resizing_keeps_of_each_element_what_fits():
    x = weft.arange(12.0).reshape(2, 6)
    assert weft.vmap(lambda row: row.clone().resize_(2, 2) * 2)(x).tolist() == [
        [[0.0, 2.0], [4.0, 6.0]],
        [[12.0, 14.0], [16.0, 18.0]],
    ]
    assert weft.vmap(lambda row: row.clone().resize_((3, 2)))(x).tolist() == x.reshape(2, 3, 2).tolist()
    with pytest.raises(RuntimeError):
        weft.vmap(lambda row: row.clone().resize_(9))(x)
