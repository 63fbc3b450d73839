"""Where pools say that the largest element of a window with NaNs stands: at the last of them, where its gradient goes."""

import pytest

import weft

NAN, F = float("nan"), weft.nn.functional
ROW = [1, NAN, 2, NAN, -1, -1, -1, NAN, 3, 3, NAN, NAN]


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16])
def test_the_last_nan_is_the_largest(dtype):
    x = weft.tensor([ROW], dtype=dtype, requires_grad=True)
    values, places = F.max_pool1d(x, 3, 1, 1, return_indices=True)
    assert places.tolist() == [[1, 1, 3, 3, 3, 4, 7, 7, 7, 10, 11, 11]]
    values.sum().backward()
    assert x.grad.tolist() == [[0, 2, 0, 3, 1, 0, 0, 3, 0, 0, 1, 2]]
    assert F.adaptive_max_pool1d(x, 4, return_indices=True)[1].tolist() == [[1, 3, 7, 11]]
    assert F.adaptive_max_pool1d(x, 5, return_indices=True)[1].tolist() == [[1, 3, 7, 7, 11]]


@pytest.mark.parametrize("layout", [weft.contiguous_format, weft.channels_last])
def test_images(layout):
    x = weft.tensor(ROW).reshape(1, 2, 3, 2).contiguous(memory_format=layout)
    expected = [[[[0, 1, 1], [2, 3, 3], [2, 3, 3], [4, 4, 5]], [[0, 1, 1], [2, 1, 1], [4, 5, 5], [4, 5, 5]]]]
    assert F.max_pool2d(x, 2, 1, 1, return_indices=True)[1].tolist() == expected


def test_windows_at_random():
    x, half = weft.tensor(ROW), weft.full((1, 1, 2), 0.5)
    pool = lambda *sizes, out: F.fractional_max_pool2d(
        x.reshape(1, 1, *sizes), 2, output_size=out, return_indices=True, _random_samples=half
    )[1].tolist()
    assert pool(3, 4, out=(2, 3)) == [[[[1, 1, 7], [8, 10, 11]]]] and pool(2, 6, out=(1, 1)) == [[[[11]]]]
