"""Truth is no place, and `count_nonzero` takes dims one by one."""

import pytest

import weft

X = weft.ones(2, 3)


@pytest.mark.parametrize("name", ["cumsum", "argmax", "diagonal", "unbind", "softmax"])
def test_a_bool_tensor_is_no_dim(name):
    with pytest.raises(TypeError, match="must be .*int.*, not Tensor"):
        getattr(X, name)(weft.tensor(True))
    assert X.cumsum(weft.tensor(1)).tolist() == [[1, 2, 3]] * 2


def test_count_nonzero():
    assert X.count_nonzero(0, 1).item() == X.count_nonzero((0, 1)).item() == X.count_nonzero().item() == 6
    assert X.count_nonzero(0).tolist() == weft.count_nonzero(X, dim=0).tolist() == [2, 2, 2]


def test_among_dims_truth_is_a_number():
    assert X.logsumexp(weft.tensor(False)).shape == (3,) and weft.tensor([1.0]).broadcast_to(weft.tensor(True)).shape == (1,)


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "greater_", "less_equal_"])
def test_complex_numbers_have_no_order(name):
    kernel = {"greater_": "gt", "less_equal_": "le"}.get(name, name)
    for x, called in ((X.clone(), "ComplexFloat"), (X.double(), "ComplexDouble"), (X.int(), "ComplexFloat")):
        with pytest.raises(NotImplementedError, match=f"\"{kernel}_cpu\" not implemented for '{called}'"):
            getattr(x, name)(2j)
    with pytest.raises(NotImplementedError):
        weft.compile(lambda x: getattr(x, name)(2j))(X.clone())
    assert not (X == 2j).any() and (X != 2j).all()


def test_a_histogram_has_a_hundred_bins():
    counts, edges = X.histogram()
    assert counts.shape == (100,) and edges.shape == (101,) and counts.sum() == 6


def test_squeeze_takes_dims_one_by_one():
    x = weft.ones(1, 1, 2)
    assert x.squeeze(0, 1).shape == x.squeeze((0, 1)).shape == x.squeeze().shape == (2,) and x.squeeze(0).shape == (1, 2)
