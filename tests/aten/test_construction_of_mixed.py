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
