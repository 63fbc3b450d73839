"""Images sampled at the points of a grid: slopes where the border begins, places of halves."""

import pytest

import weft
from aten.op import registry

F = weft.nn.functional


def no_kernel(*args):
    raise AssertionError("a kernel in Python is asked")


@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize("compiled", [False, True])
def test_points_on_the_border_have_no_slope(padding, compiled):
    """As PyTorch's, whose slope is 0 from the border outward; between the first and the last pixel there is one."""
    sample = lambda image, grid: F.grid_sample(image, grid, padding_mode=padding, align_corners=True)
    image = weft.arange(12.0).reshape(1, 1, 3, 4) ** 2
    grid = weft.tensor([[[[-1.0, 0.3], [0.2, 1.0], [0.2, 0.3], [1.0, -1.0]]]], requires_grad=True)
    (weft.compile(sample) if compiled else sample)(image, grid).sum().backward()
    across, down = grid.grad[0, 0].unbind(-1)
    assert (across != 0).tolist() == [False, True, True, False] and (down != 0).tolist() == [True, False, True, False]


def test_outside_of_zeros_there_is_nothing():
    image = weft.ones(1, 1, 3, 3)
    grid = weft.tensor([[[[-3.0, 0.0], [5.0, 5.0]]]], requires_grad=True)
    y = F.grid_sample(image, grid, align_corners=True)
    y.sum().backward()
    assert y.flatten().tolist() == [0.0, 0.0] and not grid.grad.any()


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("n", [2, 3])
def test_places_of_halves_are_rounded_as_they_are_found_and_sums_once(n, mode, dtype, monkeypatch):
    if (n, mode) == (3, "bicubic"):
        with pytest.raises(RuntimeError, match="only supports 4D"):
            F.grid_sample(weft.zeros(1, 1, 2, 2, 2), weft.zeros(1, 1, 1, 1, 3), mode, align_corners=False)
        return
    op = registry["sample_points"]
    weft.manual_seed(0)
    image, grid = weft.randn(1, 3, *(7, 9, 5)[:n]).to(dtype), (2.4 * weft.rand(1, *[12] * n, n) - 1.2).to(dtype)
    for padding in ("zeros", "border", "reflection"):
        expected = op.decompose_fn(image, grid, mode, padding, False)
        with monkeypatch.context() as patch:
            patch.setattr(op, "kernel_fn", no_kernel)
            found = F.grid_sample(image, grid, mode, padding, align_corners=False)
        tolerance = {"nearest": 0.0}.get(mode, 0.06 if dtype is weft.bfloat16 else 0.01)
        assert (found.float() - expected.float()).abs().max() <= tolerance


@pytest.mark.parametrize("dtype", [weft.float32, weft.float16, weft.bfloat16])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("channels", [2, 9])
def test_at_places_that_halves_have_results_and_gradients_are_rounded_once(channels, mode, dtype, monkeypatch):
    for name in ("sample_points", "sample_points_backward"):
        monkeypatch.setattr(registry[name], "kernel_fn", no_kernel)
    weft.manual_seed(0)
    for n in (2,) if mode == "bicubic" else (2, 3):
        image = weft.randn(2, channels, *(4, 8, 2)[:n]).to(dtype)
        grid = (weft.randint(-5, 6, (2, *[6] * n, n)) / 4).to(dtype)
        g = weft.randn(2, channels, *[6] * n).to(dtype)
        results = []
        for make in (lambda x: x.detach(), lambda x: x.double()):
            given = [make(x).requires_grad_() for x in (image, grid)]
            y = F.grid_sample(*given, mode, align_corners=False)
            results.append((y, *weft.autograd.grad(y, given, make(g))))
        for found, expected in zip(*results):
            rounded = mode == "bicubic" and dtype is not weft.float32  # (weights are)
            tolerance = {"rtol": 0.02, "atol": 0.02} if rounded else {}
            weft.testing.assert_close(found, expected.to(dtype), **tolerance)
        assert bool(results[0][2].any()) is (mode != "nearest")
