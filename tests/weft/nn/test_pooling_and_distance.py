"""Modules of fractional pooling and of distances."""

import pytest

import weft
from weft import nn


def test_fractional_pooling_places_windows_as_pytorch_does():
    """Indices from PyTorch 2.13: torch.nn.FractionalMaxPool2d(2, (3, 4), return_indices=True, _random_samples=samples)."""
    samples = weft.tensor([[[0.3, 0.7]]])
    image = weft.arange(30.0).reshape(1, 1, 5, 6)
    pool = nn.FractionalMaxPool2d(2, (3, 4), return_indices=True, _random_samples=samples)
    values, indices = pool(image)
    assert indices.tolist() == [[[[7, 8, 10, 11], [13, 14, 16, 17], [25, 26, 28, 29]]]]
    assert values.tolist() == [[[[7, 8, 10, 11], [13, 14, 16, 17], [25, 26, 28, 29]]]]


def test_samples_are_drawn_anew():
    weft.manual_seed(0)
    image = weft.randn(4, 8, 20, 20)
    pool = nn.FractionalMaxPool2d(3, output_ratio=(0.6, 0.7))
    first, second = pool(image), pool(image)
    assert tuple(first.shape) == (4, 8, 12, 14) and not weft.equal(first, second)
    assert tuple(nn.FractionalMaxPool3d(2, output_size=3)(weft.randn(2, 5, 5, 6)).shape) == (2, 3, 3, 3)


@pytest.mark.parametrize(
    "arguments,message",
    [
        ({}, "FractionalMaxPool2d requires specifying either an output size, or a pooling ratio"),
        ({"output_size": 3, "output_ratio": 0.5}, "only one of output_size and output_ratio may be specified"),
        ({"output_ratio": (0.5, 2)}, r"output_ratio must be between 0 and 1 \(got \(0.5, 2\)\)"),
    ],
)
def test_sizes_that_say_too_little_or_too_much(arguments, message):
    with pytest.raises(ValueError, match=message):
        nn.FractionalMaxPool2d(2, **arguments)


def test_distances():
    x, y = weft.tensor([[3.0, 4.0]]), weft.zeros(1, 2)
    assert nn.PairwiseDistance(eps=0.0)(x, y).tolist() == [5]
    assert nn.PairwiseDistance(p=1.0, eps=0.0, keepdim=True)(x, y).tolist() == [[7]]
    assert weft.allclose(nn.CosineSimilarity()(x, 2 * x), weft.ones(1))
    loss = nn.functional.triplet_margin_with_distance_loss(x, x, y, distance_function=nn.PairwiseDistance(), margin=6.0)
    assert weft.allclose(loss, weft.tensor(1.0), atol=1e-4)
