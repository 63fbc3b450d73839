"""What testing.assert_close compares and what it refuses to, as PyTorch 2.13's does."""

import numpy as np
import pytest

import weft
from weft.testing import assert_close

EYE, META = weft.eye(2), weft.ones(2, device="meta")


@pytest.mark.parametrize(
    "same", [None, {"a": None}, META, EYE.to_sparse(), EYE.to_sparse_csr(), np.ones(2, np.float32), np.float32(1), [1, (2.0,)]]
)
def test_equal_values_of_all_kinds(same):
    assert_close(same, same)


def test_numbers_of_numpy_stand_for_those_of_python():
    assert_close(np.float32(1), 1.0)
    assert_close(1.0, np.float64(1))
    assert_close(1, 1.0, check_dtype=False)
    assert_close([1.0], (1.0,))


@pytest.mark.parametrize(
    "actual,expected",
    [
        (None, 1),
        (1, 1.0),
        (1.0, np.int64(1)),
        (True, 1),
        (META, weft.ones(3, device="meta")),
        (META, weft.ones(2)),
        (EYE, EYE.to_sparse()),
        (EYE.to_sparse(), EYE.to_sparse_csr()),
        (EYE.to_sparse(), 2 * EYE.to_sparse()),
        (np.ones(1, np.float32), np.ones(1)),
    ],
)
def test_what_differs(actual, expected):
    with pytest.raises(AssertionError):
        assert_close(actual, expected)


@pytest.mark.parametrize("other", [1.0, np.ones(1, np.float32), [1.0], {"a": 1.0}])
def test_what_is_not_compared(other):
    for pair in ((weft.ones(1), other), (other, weft.ones(1))):
        with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
            assert_close(*pair)
