"""`weft.tensor` of Python's own numbers in lists: dtypes, values, what is refused."""

import math

import pytest

import weft

INF = math.inf


@pytest.mark.parametrize(
    "data, dtype, wanted",
    [
        (1.5, None, (weft.float32, [], 1.5)),
        (True, None, (weft.bool, [], True)),
        (7, None, (weft.int64, [], 7)),
        ([1, 2.5], None, (weft.float32, [2], [1, 2.5])),
        ([True, 2], None, (weft.int64, [2], [1, 2])),
        ([[1], (2,)], None, (weft.int64, [2, 1], [[1], [2]])),
        ([[[True]]], None, (weft.bool, [1, 1, 1], [[[True]]])),
        ([], None, (weft.float32, [0], [])),
        ([[], []], None, (weft.float32, [2, 0], [[], []])),
        ([1e300, -1e300, 1e-300], None, (weft.float32, [3], [INF, -INF, 0])),
        ([2**53 + 1], weft.float64, (weft.float64, [1], [2**53])),
        ([2**63 - 1, -(2**63)], None, (weft.int64, [2], [2**63 - 1, -(2**63)])),
        ([2**64 - 1], weft.uint64, (weft.uint64, [1], [2**64 - 1])),
        ([1.9, -1.9], weft.int32, (weft.int32, [2], [1, -1])),
        ([0.5, 0.0], weft.bool, (weft.bool, [2], [True, False])),
        ([70000.0, 1.0], weft.float16, (weft.float16, [2], [INF, 1])),
        ([1, 2], weft.complex64, (weft.complex64, [2], [1, 2])),
        ([1, 2j], None, (weft.complex64, [2], [1, 2j])),
        ([255, 0], weft.uint8, (weft.uint8, [2], [255, 0])),
        ([1, True], weft.bfloat16, (weft.bfloat16, [2], [1, 1])),
    ],
)
def test_numbers(data, dtype, wanted):
    made = weft.tensor(data, dtype=dtype)
    assert (made.dtype, list(made.shape), made.tolist()) == wanted
    assert made.is_leaf and not made.requires_grad and made.is_contiguous()


@pytest.mark.parametrize(
    "data, dtype, error, message",
    [
        ([[1], [2, 3]], None, ValueError, "expected sequence of length 1 at dim 1"),
        ([[1], 2], None, TypeError, "expected a sequence of length 1"),
        ([1, [2]], None, TypeError, "not|cannot"),
        ([2**63], None, ValueError, "Overflow"),
        ([256], weft.uint8, RuntimeError, "overflow"),
        ([1, None], None, RuntimeError, "Could not infer dtype of NoneType"),
        (["1"], None, ValueError, "'str'"),
        ([1j], weft.float32, TypeError, "not complex"),
    ],
)
def test_what_is_refused(data, dtype, error, message):
    with pytest.raises(error, match=message):
        weft.tensor(data, dtype=dtype)


def test_numbers_of_classes_of_the_program():
    class Number(float):
        pass

    assert weft.tensor([Number(2.5), 1.0]).tolist() == [2.5, 1]


def test_the_default_dtype_and_history():
    weft.set_default_dtype(weft.float64)
    try:
        assert weft.tensor([0.1]).dtype is weft.float64 and weft.tensor([0.1]).item() == 0.1
    finally:
        weft.set_default_dtype(weft.float32)
    assert weft.tensor([1.0, 2.0], requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        weft.tensor([1], requires_grad=True)
