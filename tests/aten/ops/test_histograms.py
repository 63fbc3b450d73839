"""What histograms refuse, in the words of PyTorch 2.13."""

import pytest

import weft

X, D = weft.tensor([[1.0, 2.0], [3.0, 4.0]]), weft.float64
REFUSED = [
    (lambda: weft.histc(X, 10, 3, 1), "torch.histc: max must be larger than min"),
    (lambda: weft.histc(X.int(), 10, 3, 1), "torch.histc: max must be larger than min"),
    (lambda: weft.histc(X, 0), r"torch.histogram\(\): bins must be > 0, but got 0 for dimension 0"),
    (lambda: weft.histc(X, min=1, max=float("inf")), r"torch.histc: range of \[1, inf\] is not finite"),
    (lambda: weft.histc(X / 0), r"torch.histc: range of \[inf, inf\] is not finite"),
    (lambda: weft.histc(X.int(), 3), "\"histogram_cpu\" not implemented for 'Int'"),
    (lambda: weft.histogram(X.int(), 3), "\"histogram_cpu\" not implemented for 'Int'"),
    (lambda: weft.histogram(X, X), "bins tensor should have one dimension, but got 2 dimensions"),
    (lambda: weft.histogram(X, weft.tensor([])), "bins tensor should have at least 1 element, but got 0 elements"),
    (lambda: weft.histogram(X, weft.ones(2, dtype=D)), "input tensor and bins tensors should have the same dtype"),
    (lambda: weft.histogram(X, 1, weight=weft.ones(2, 2, dtype=D)), "input tensor and weight tensor should have the same dtype"),
    (lambda: weft.histogram(X, 1, weight=weft.ones(1)), "should have the same shape as the input tensor excluding its innermost"),
    (lambda: weft.histogramdd(X, 1, weight=weft.ones(1)), "should have the same shape as the input tensor excluding its innermost"),
    (lambda: weft.histogram(X, -1), r"bins must be > 0, but got -1 for dimension 0"),
    (lambda: weft.histogram(X, 2, range=(1, 0)), "min should not exceed max, but got min 1 max 0 for dimension 0"),
    (lambda: weft.histogram(X * float("nan"), 2), r"dimension 0's range \[nan, nan\] is not finite"),
    (lambda: weft.histogramdd(X, [1]), "expected 2 sequences of bin edges for a 2-dimensional histogram but got 1"),
    (lambda: weft.histogram(X, 1, out=(weft.ones(1, dtype=D), weft.ones(2))), "input tensor and hist tensor should have the same"),
    (lambda: weft.histogram(X, 1, out=(weft.ones(1), weft.ones(2, dtype=D))), "input tensor and bin_edges tensor should have"),
    (lambda: weft.mode(X, 0, out=(weft.ones(2, dtype=D), weft.ones(2).long())), "type 'Float' but got 'Double' for values output"),
    (lambda: weft.mode(X, 0, out=(weft.ones(2), weft.ones(2))), "expected scalar type 'Long' but got 'Float' for indices output"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_histograms_refuse(case):
    with pytest.raises((RuntimeError, NotImplementedError), match=REFUSED[case][1]):
        REFUSED[case][0]()


def test_edges_and_a_range_are_one_too_many():
    with pytest.raises(TypeError, match="received an invalid combination of arguments"):
        weft.histogram(X, weft.ones(2), range=(0, 1))


def test_what_they_count():
    assert weft.histc(X, 2, 1, 4).tolist() == [2, 2]
    counts, edges = weft.histogram(X, 3, weight=X)
    assert counts.tolist() == [1, 2, 7] and edges.tolist() == [1, 2, 3, 4]
    assert weft.histogramdd(X, [weft.tensor([0.0, 2, 4]), weft.tensor([0.0, 3, 5])])[0].tolist() == [[1, 0], [0, 1]]


def test_the_range_of_many_dims():
    with pytest.raises(RuntimeError, match="for a 2-dimensional histogram range should have 4 elements, but got 2"):
        weft.histogramdd(X, 3, range=[1.0, 2.0])
    with pytest.raises(RuntimeError, match="input tensor should have at least 2 dimensions"):
        weft.histogramdd(X[0], 3)


def test_quantiles_of_no_rows_are_refused():
    with pytest.raises(RuntimeError, match="input tensor must be non-empty"):
        weft.zeros(0, 3).quantile(0.5, 1)
