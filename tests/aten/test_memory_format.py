"""Channels innermost in memory."""

import pytest

import weft

LAST = weft.channels_last


def test_conversions_lay_elements_out_and_keep_their_places():
    x = weft.arange(120.0).reshape(2, 3, 4, 5)
    made = [f(memory_format=LAST) for f in (x.contiguous, x.clone, x.to, x.double)]
    for y in made:
        assert y.stride() == (60, 1, 15, 3) and weft.equal(x.to(y.dtype), y) and y.is_contiguous(memory_format=LAST)
    y = x.contiguous(memory_format=LAST)
    assert y.contiguous(memory_format=LAST) is y and y.contiguous().stride() == (60, 20, 5, 1)
    volume = weft.zeros(2, 3, 4, 5, 6).contiguous(memory_format=weft.channels_last_3d)
    assert volume.stride() == (360, 1, 90, 18, 3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        weft.zeros(3).contiguous(memory_format=LAST)


def test_conversions_are_differentiated_and_compiled():
    x = weft.randn(2, 3, 4, 5, requires_grad=True)
    f = lambda x: x.contiguous(memory_format=LAST) * 2
    f(x).sum().backward()
    assert weft.equal(x.grad, weft.full((2, 3, 4, 5), 2.0))
    compiled = weft.compile(f, backend="eager", fullgraph=True)(x)
    assert compiled.stride() == (60, 1, 15, 3) and weft.equal(compiled, f(x))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_resized_images_are_laid_out_as_they_were(mode):
    x = weft.rand(2, 3, 4, 5)
    y = weft.nn.functional.interpolate(x.contiguous(memory_format=LAST), scale_factor=2, mode=mode)
    assert y.is_contiguous(memory_format=LAST)
    weft.testing.assert_close(y.contiguous(), weft.nn.functional.interpolate(x, scale_factor=2, mode=mode))


def test_bytes_are_resized_to_bytes():
    x = weft.tensor([[[[0, 255], [100, 50]]]], dtype=weft.uint8)
    y = weft.nn.functional.interpolate(x, size=(3, 3), mode="bilinear", align_corners=True)
    assert y.dtype is weft.uint8 and y.tolist() == [[[[0, 128, 255], [50, 102, 153], [100, 75, 50]]]]


def test_results_of_sliced_elements_keep_the_order_without_the_gaps():
    x = weft.rand(2, 3, 8, 8).contiguous(memory_format=LAST)[:, :, 1:-1, ::2]
    for y in (x * 2, x.double(), weft.where(x > 0.5, x, 0.0), weft.compile(lambda x: x * 2, backend="eager")(x)):
        assert y.stride() == (72, 1, 12, 3)
        one = x[:1] * 2
        assert one.stride() == (72, 1, 12, 3)
    assert (weft.rand(6, 8).t()[1:] + 1).stride() == (1, 7)
    assert (weft.rand(6, 1).expand(6, 8).t() + 1).stride() == (6, 1)
    assert (weft.rand(4, 1, 6)[:, :, ::2] + 1).stride() == (3, 3, 1)


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16])
def test_norms_of_halves_with_wide_weights_give_halves(dtype):
    x = weft.randn(2, 4, 3, 5).to(dtype).contiguous(memory_format=LAST)
    for norm in (weft.nn.GroupNorm(2, 4), weft.nn.BatchNorm2d(4), weft.nn.InstanceNorm2d(4, affine=True)):
        y = norm(x)
        assert y.dtype is dtype
        weft.testing.assert_close(y.float(), norm(x.float()), atol=1e-2, rtol=1e-2)
    assert weft.nn.GroupNorm(2, 4)(x).is_contiguous(memory_format=LAST)
