"""aten.tensor of sequences that hold tensors, arrays and NumPy scalars beside Python numbers. (Answers are PyTorch 2.13's.)"""

import numpy as np
import pytest

import aten


@pytest.mark.parametrize(
    "data, dtype, values",
    [
        ([aten.tensor(1.5), 2], aten.float32, [1.5, 2.0]),
        ([2, aten.tensor(1.5)], aten.float32, [2.0, 1.5]),
        ([aten.tensor(1), 2.5], aten.float32, [1.0, 2.5]),
        ([aten.tensor(1.5, dtype=aten.float16), 2], aten.float16, [1.5, 2.0]),
        ([np.float32(1), 2.0], aten.float32, [1.0, 2.0]),
        ([np.float64(1), 2], aten.float64, [1.0, 2.0]),
        ([np.int64(1), 1.5], aten.float32, [1.0, 1.5]),
        ([np.float16(1)], aten.float16, [1.0]),
        ([np.float32(1), aten.tensor(1, dtype=aten.float16)], aten.float32, [1.0, 1.0]),
        ([aten.tensor([1.5]), aten.tensor([2.0])], aten.float32, [1.5, 2.0]),
        ([[aten.tensor(1)], [2.5]], aten.float32, [[1.0], [2.5]]),
        ([np.array([1.5, 2]), [1, 2]], aten.float64, [[1.5, 2.0], [1.0, 2.0]]),
        ([1j, aten.tensor(1.0)], aten.complex64, [1j, 1 + 0j]),
        ([True, np.float32(1)], aten.float32, [1.0, 1.0]),
    ],
)
def test_each_element_has_a_say_in_the_dtype(data, dtype, values):
    made = aten.tensor(data)
    assert made.dtype is dtype
    assert made.tolist() == values


@pytest.mark.parametrize(
    "data, error",
    [
        ([aten.tensor([1.0, 2.0]), [1, 2]], ValueError),
        ([aten.tensor(1), None], RuntimeError),
        ([np.float32(1), "a"], TypeError),
        ([1.5, [2]], TypeError),
    ],
)
def test_what_is_no_number_is_refused(data, error):
    with pytest.raises(error):
        aten.tensor(data)


def test_numbers_of_more_than_64_bits():
    """They are floating beside a floating number, complex beside a complex one; else too wide."""
    assert aten.tensor([1.5, 2**70]).tolist() == [1.5, 1.1805916207174113e21]
    assert aten.tensor([[2**70], [1.5]]).dtype is aten.float32
    found = aten.tensor([1j, 2**70])
    assert found.dtype is aten.complex64 and found.tolist() == [1j, 1.1805916207174113e21]
    for data in ([2**70], [1, 2**70], [True, 2**70], [2**63], [-(2**63) - 1], 2**70):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            aten.tensor(data)
    for dtype in (aten.int64, aten.int32, aten.uint8):
        for data in (2**63, [2**63], [2**64 - 1]):
            with pytest.raises(ValueError, match="Overflow when unpacking long long"):
                aten.tensor(data, dtype=dtype)
    assert aten.tensor([2**64 - 1], dtype=aten.uint64).tolist() == [2**64 - 1]


def test_a_scalar_of_numpy_must_fit_where_an_array_wraps():
    with pytest.raises(RuntimeError, match="without overflow"):
        aten.tensor(np.int64(300), dtype=aten.uint8)
    assert aten.tensor(np.array([300, -1]), dtype=aten.uint8).tolist() == [44, 255]
    assert aten.tensor(np.int64(200), dtype=aten.uint8).item() == 200


def test_a_copy_of_an_array_lies_as_the_array():
    array = np.arange(6).reshape(2, 3)
    assert aten.tensor(array.T).stride() == (1, 3)
    assert aten.tensor(array.T, dtype=aten.float32).stride() == (1, 3)
    assert aten.tensor(array.T).tolist() == array.T.tolist()
    assert aten.tensor(array[:, ::2]).stride() == (2, 1)
    assert aten.tensor(np.broadcast_to(array[:, :1], (2, 3))).stride() == (3, 1)
    assert aten.tensor(array[:, ::-1]).tolist() == [[2, 1, 0], [5, 4, 3]]


@pytest.mark.parametrize(
    "data, dtype, error, text",
    [
        (b"ab", None, TypeError, "invalid data type 'bytes'"),
        ([b"a"], None, TypeError, "invalid data type 'bytes'"),
        ("a", None, TypeError, "invalid data type 'str'"),
        (["a"], None, ValueError, "too many dimensions 'str'"),
        ([np.array([1, 2]), 3], None, TypeError, "not a sequence"),
        (None, aten.int64, TypeError, "'NoneType' object cannot be interpreted as an integer"),
        (None, aten.float32, TypeError, "must be real number, not NoneType"),
        (None, None, RuntimeError, "Could not infer dtype of NoneType"),
    ],
)
def test_what_is_no_number(data, dtype, error, text):
    with pytest.raises(error, match=text):
        aten.tensor(data, dtype=dtype)


@pytest.mark.parametrize(
    "data, dtype, sizes",
    [
        ([[], [1]], aten.float32, (2, 0)),
        ([[], 1], aten.float32, (2, 0)),
        ([[[]], [1]], aten.float32, (2, 1, 0)),
        ([[[]], [[], []]], aten.float32, (2, 1, 0)),
        ([[], [1j]], aten.complex64, (2, 0)),
        ([[], np.ones(1)], aten.float64, (2, 0)),
        ([np.ones((2, 0), np.int8)], aten.int8, (1, 2, 0)),
        ([range(0), 5], aten.float32, (2, 0)),
    ],
)
def test_where_the_first_part_is_empty_the_others_are_not_looked_into(data, dtype, sizes):
    made = aten.tensor(data)
    assert made.dtype is dtype and made.shape == sizes
    assert aten.tensor(data, dtype=aten.int32).shape == sizes and aten.empty(0).new_tensor(data).shape == sizes


@pytest.mark.parametrize(
    "data, error, words",
    [
        ([[1], []], ValueError, "expected sequence of length 1 at dim 1 .got 0"),
        ([[[1]], [[]]], ValueError, "expected sequence of length 1 at dim 2 .got 0"),
        ([[1], [[2]]], TypeError, "'list' object cannot be interpreted as an integer"),
        ([[1], [[]]], TypeError, "must be real number, not list"),
        ([[[2]], [1]], TypeError, "not a sequence"),
        ([[], ["a"]], TypeError, "invalid data type 'str'"),
        ([[], None], RuntimeError, "Could not infer dtype of NoneType"),
    ],
)
def test_what_is_uneven_is_refused(data, error, words):
    with pytest.raises(error, match=words):
        aten.tensor(data)
