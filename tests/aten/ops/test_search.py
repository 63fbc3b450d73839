"""Searches in a sequence that another tensor sorts."""

import pytest

import weft
from aten import _native


def test_searchsorted_with_a_sorter_eager_and_compiled():
    find = lambda rows, values, order: weft.searchsorted(rows, values, sorter=order, side="right")
    rows, values, order = weft.tensor([5.0, 1.0, 3.0]), weft.tensor([3.0, 0.0, 9.0]), weft.tensor([1, 2, 0])
    for f in (find, weft.compile(find, fullgraph=True)):
        assert f(rows, values, order).tolist() == [2, 0, 3]


def test_sets_of_elements_are_found_without_python():
    x = weft.tensor([[3, 3, 1], [1, 2, 3]])
    for dtype in (weft.int64, weft.uint8, weft.bool, weft.float32):
        y = x.to(dtype) if dtype is not weft.bool else x > 2
        for op in (weft.unique, weft.unique_consecutive):
            op(y)
            _native.python_entries(True)
            values, inverse, counts = op(y, return_inverse=True, return_counts=True)
            assert weft.equal(op(y), values)
            pair = op(y, return_inverse=True)
            assert weft.equal(pair[0], values) and weft.equal(pair[1], inverse)
            pair = op(y, return_counts=True)
            assert weft.equal(pair[0], values) and weft.equal(pair[1], counts)
            assert not {"unique", "unique_consecutive"} & set(_native.python_entries(True))
            assert weft.equal(values[inverse], y) and counts.sum() == 6
    turned = x.t()
    assert weft.unique_consecutive(turned).tolist() == [3, 1, 3, 2, 1, 3] and weft.unique(turned).tolist() == [1, 2, 3]
    assert weft.unique(x[:0]).tolist() == [] == weft.unique_consecutive(x[:0]).tolist()


def test_counts_are_spread_and_counted_without_python():
    counts = weft.tensor([2, 0, 3])
    for f in (lambda: weft.repeat_interleave(counts), lambda: weft.bincount(counts), lambda: weft.bincount(counts, minlength=6)):
        f()
        _native.python_entries(True)
        f()
        assert _native.python_entries(True) == {}
    assert weft.repeat_interleave(counts).tolist() == [0, 0, 2, 2, 2] == weft.repeat_interleave(counts.int()).tolist()
    assert weft.repeat_interleave(weft.tensor([9, 2, 9, 0, 9, 3])[1::2]).tolist() == [0, 0, 2, 2, 2]
    assert weft.repeat_interleave(counts[:0]).tolist() == []
    assert weft.bincount(counts).tolist() == [1, 0, 1, 1] and weft.bincount(counts, minlength=6).tolist() == [1, 0, 1, 1, 0, 0]
    assert weft.bincount(counts, weft.tensor([0.5, 1, 2])).tolist() == [1, 0, 0.5, 2]
    for wrong, more in ((weft.repeat_interleave, {}), (weft.bincount, {}), (weft.bincount, {"minlength": -1})):
        with pytest.raises(RuntimeError):
            wrong(-counts if not more else counts, **more)


def test_places_of_counts_have_the_dtype_of_the_counts():
    for counts in (weft.tensor([2, 0, 3]), weft.tensor([2, 0, 3], dtype=weft.int32)):
        for f in (weft.repeat_interleave, weft.compile(weft.repeat_interleave)):
            assert f(counts).dtype is counts.dtype and f(counts).tolist() == [0, 0, 2, 2, 2]


def test_weights_of_counts_may_be_complex_or_of_nothing():
    x = weft.tensor([1, 2, 2])
    found = weft.bincount(x, weft.tensor([1 + 2j, 1, 2j]))
    assert found.dtype is weft.float64 and found.tolist() == [0, 1, 1]
    assert weft.bincount(x[:0], weft.ones(0), 2).dtype is weft.int64


def test_slices_without_elements_are_no_set():
    with pytest.raises(RuntimeError, match="0 sized dimensions, and they aren't selected"):
        weft.unique(weft.zeros(3, 0, 2), dim=0)
    with pytest.raises(RuntimeError, match="more than one"):
        weft.unique(weft.zeros(0, 0), dim=0)
    assert weft.unique(weft.zeros(0, 2), dim=0).shape == (0, 2)


def test_what_contradicts_itself_is_refused():
    rows, values = weft.tensor([1.0, 2.0]), weft.tensor([1.5])
    with pytest.raises(RuntimeError, match="side and right can't be set to opposites, got side of left while right was True"):
        weft.searchsorted(rows, values, side="left", right=True)
    with pytest.raises(RuntimeError, match="boundary and sorter must have the same size"):
        weft.searchsorted(rows, values, sorter=weft.tensor([0]))


def test_segments_must_cover_the_data():
    x, lengths = weft.arange(6.0), weft.tensor([2, 1])
    with pytest.raises(RuntimeError, match="Expected all rows of lengths along axis to sum to data.size"):
        weft.segment_reduce(x, "sum", lengths=lengths)
    assert weft.segment_reduce(x, "sum", lengths=lengths, unsafe=True).tolist() == [1.0, 2.0]
    assert weft.segment_reduce(x, "sum", offsets=weft.tensor([0, 2, 3])).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("backend", ("aot_eager", "inductor"))
@pytest.mark.parametrize("lengths", ([1, 1], [1, 4, -2]))
def test_compiled_segments_must_cover_the_data(backend, lengths):
    weft.compiler.reset()
    f = weft.compile(lambda x, n: (weft.segment_reduce(x, "sum", lengths=n), x + 1)[1], backend=backend, fullgraph=True)
    assert f(weft.ones(3), weft.tensor([2, 1])).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="Expected all rows of lengths|lengths contains negative value"):
        f(weft.ones(3), weft.tensor(lengths))


def test_segments_of_each_sample_must_cover_its_data():
    rows, summed = weft.arange(6.0).reshape(2, 3), weft.vmap(lambda x, n: weft.segment_reduce(x, "sum", lengths=n), (0, 1))
    assert summed(rows, weft.tensor([[1, 3], [2, 0]])).tolist() == [[0.0, 3.0], [12.0, 0.0]]
    with pytest.raises(RuntimeError, match="Expected all rows of lengths"):
        summed(rows, weft.tensor([[1, 3], [2, 1]]))


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: weft.compile(f, dynamic=False)], ids=["eager", "compiled"])
def test_numbers_are_compared_as_they_are(wrap):
    whole, narrow = weft.tensor([1, 2, 3]), weft.tensor([1, 100, 127], dtype=weft.int8)
    nan, inf = float("nan"), float("inf")
    find = lambda value, rows, right=False: wrap(lambda rows: weft.searchsorted(rows, value, right=right))(rows).item()
    assert find(2.5, whole) == 2 and find(2, whole) == 1 and find(-0.5, whole, True) == 0
    assert find(300, narrow) == 3 and find(-300, narrow) == 0 and find(inf, whole) == 3
    assert wrap(lambda rows: weft.bucketize(2.5, rows))(whole).item() == 2
    assert wrap(lambda rows: weft.bucketize(300, rows))(narrow).item() == 3
    assert wrap(lambda x: weft.isin(x, 1.5))(whole).tolist() == [False] * 3
    assert wrap(lambda x: weft.isin(x, 2.0))(whole).tolist() == [False, True, False]
    assert wrap(lambda x: weft.isin(1.5, x))(whole).item() is False
    assert wrap(lambda x: weft.isin(x, 257))(narrow).tolist() == [False] * 3
    assert wrap(lambda x: weft.isin(257, x))(narrow).item() is False
    assert wrap(lambda x: weft.isin(x, nan))(whole).tolist() == [False] * 3
