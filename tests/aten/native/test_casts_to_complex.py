"""Every dtype as complex64 and complex128, natively: NumPy's numbers, whatever the layout."""

import numpy as np
import pytest

import weft as torch
from tests.aten.test_replay import entries

REAL = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64".split()


@pytest.mark.parametrize("source", [*REAL, "complex64", "complex128"])
@pytest.mark.parametrize("target", ["complex64", "complex128"])
def test_the_numbers_are_those_of_numpy(source, target):
    if source == target:
        return
    drawn = np.random.default_rng(0).standard_normal(2000) * 100
    numbers = drawn > 0 if source == "bool" else (drawn.view("complex128") if source[0] == "c" else drawn).astype(source)
    for n in (0, 1, 3, 17, 1000):
        x = torch.from_numpy(numbers[:n].copy())
        for shown in (x, x[::2], x.flip(0), x[:1].expand(5) if n else x, x.view(1, -1).t()):
            made = shown.to(getattr(torch, target))
            assert np.array_equal(made.numpy(), shown.numpy().astype(target))


def test_transforms_of_real_numbers_need_no_python():
    x = torch.arange(8.0, requires_grad=True)
    for _ in range(8):
        torch.fft.fft(x)
    assert not entries(lambda: torch.fft.fft(x))
    torch.fft.fft(x).abs().sum().backward()
    assert x.grad is not None and x.grad.dtype is torch.float32
