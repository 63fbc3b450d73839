"""Results without elements have the history that they have in eager."""

import pytest

import weft

F = weft.nn.functional
CASES = {
    "unfold": lambda x: F.unfold(x, (2, 2), 1, 1, 2),
    "padded": lambda x: F.pad(x, (1, 1)).unfold(3, 2, 1),
    "convolution": lambda x: F.conv2d(x, weft.ones(1, 2, 2, 2)),
    "resized": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("batch", [0, 2])
def test_gradients_reach_the_input(case, backend, batch):
    x = weft.randn(batch, 2, 4, 4, requires_grad=True)
    y = weft.compile(CASES[case], backend=backend)(x)
    expected = CASES[case](x)
    assert y.requires_grad and y.shape == expected.shape
    for a, b in zip(weft.autograd.grad(y.sum(), x), weft.autograd.grad(expected.sum(), x)):
        weft.testing.assert_close(a, b)
