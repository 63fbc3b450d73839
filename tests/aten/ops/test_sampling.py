"""Images sampled at the points of a grid: slopes where the border begins."""

import pytest

import weft

F = weft.nn.functional


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
