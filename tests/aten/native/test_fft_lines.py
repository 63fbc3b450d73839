"""Transforms of sixteen lines at a time, of fewer, along other dims, and of sizes with every radix, against NumPy's."""

import numpy as np
import pytest

import weft
from aten import dispatch
from aten.op import registry

_SIZES = [(20, 512), (33, 24), (16, 40), (17, 7), (3, 16, 1000), (16, 2), (16, 1), (40, 8), (2, 64, 64), (16, 22), (16, 4096)]
_SIZES += [(35, 10), (48, 18), (16, 400)]  # less than whole registers are left of a line
_SIZES += [(3, n) for n in (128, 256, 384, 640, 896, 1280, 3840)]  # one line at a time; radices of every kind last


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", _SIZES, ids=str)
def test_transforms(sizes, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(sizes).astype(dtype)
    z = (x + 1j * rng.standard_normal(sizes)).astype(np.result_type(dtype, np.complex64))
    real, complex_ = weft.from_numpy(x), weft.from_numpy(z)

    def check(found, wanted):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=100 * np.finfo(dtype).eps * np.abs(wanted).max())

    for name in ("fft", "ifft", "fft2"):
        check(getattr(weft.fft, name)(complex_), getattr(np.fft, name)(z))
    for name in ("rfft", "rfft2"):
        check(getattr(weft.fft, name)(real), getattr(np.fft, name)(x))
    real.requires_grad_()
    made = weft.fft.rfft(real)
    (found,) = weft.autograd.grad(made, real, made.detach())
    half = np.fft.rfft(x)
    half[..., 1 : (sizes[-1] + 1) // 2] /= 2
    check(found, np.fft.irfft(half, sizes[-1]) * sizes[-1])
    real = real.detach()
    check(weft.fft.fft(complex_, dim=0), np.fft.fft(z, axis=0))
    check(weft.fft.irfft(weft.fft.rfft(real), sizes[-1]), x)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("sizes", [(20, 512), (3, 24), (5, 17), (2, 6, 40)], ids=str)
def test_scales_are_part_of_the_transform(sizes, norm):
    """Their gradients have them too; no pass over the result is made for them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(sizes)
    z, n = x + 1j * rng.standard_normal(sizes), sizes[-1]
    real, complex_ = weft.from_numpy(x), weft.from_numpy(z)
    for name in ("fft", "ifft", "fft2", "ifft2"):
        found = getattr(weft.fft, name)(complex_, norm=norm).numpy()
        np.testing.assert_allclose(found, getattr(np.fft, name)(z, norm=norm), atol=1e-12)
    for name, given in (("rfft", real), ("ihfft", real), ("irfft", complex_), ("hfft", complex_)):
        found = getattr(weft.fft, name)(given, norm=norm).numpy()
        np.testing.assert_allclose(found, getattr(np.fft, name)(given.numpy(), norm=norm), atol=1e-12)
    lengths = {"rfft": (real, n, "backward"), "irfft": (complex_, 2 * n - 2, "forward"), "ifft": (complex_, n, "forward")}
    for name, (given, length, plain) in lengths.items():
        scale = {plain: 1.0, "ortho": length**-0.5}.get(norm, 1 / length)
        leaf, op = given.clone().requires_grad_(), getattr(weft.fft, name)
        scaled, unscaled = op(leaf, norm=norm), op(leaf, norm=plain)
        g = weft.ones_like(scaled)
        (found,), (expected,) = weft.autograd.grad(scaled, leaf, g), weft.autograd.grad(unscaled, leaf, g)
        np.testing.assert_allclose(found.numpy(), expected.numpy() * scale, atol=1e-11)


def test_complex_numbers_of_any_layout_have_native_transforms():
    z = weft.complex(weft.randn(6, 40), weft.randn(6, 40))
    for dtype in (weft.complex64, weft.complex128):
        for x in (z.to(dtype)[:, :33], z.to(dtype).t(), z.to(dtype)[::2, 8:28]):
            for name, more in (("fft_c2c", ([1], True, 1.0)), ("fft_c2r", ([1], 2 * x.shape[1] - 2, 1.0))):
                op, args = registry[name], (x, *more)
                out = dispatch.allocate(dispatch.result_meta(op, args))
                assert op.native_fn(out, *args) is None
                assert weft.equal(out, op(x.contiguous(), *more))


def test_instruction_sets_give_the_same_numbers():
    from aten import _native

    z = weft.complex(weft.randn(5, 1920), weft.randn(5, 1920))
    y, found = weft.randn(37, 18), []
    try:
        for level in (3, 4):
            if _native._use_kernels(level) == "none":
                pytest.skip("this processor has neither instruction set")
            lines = [weft.fft.rfft(y), weft.fft.irfft(weft.complex(y, -y), 30), weft.fft.fft(weft.complex(y, y * y))]
            alone = [weft.fft.fft(z), weft.fft.fft(z, dim=0), weft.fft.irfft(z, 640), weft.fft.rfft(z.real.contiguous())]
            found.append([*alone, *lines])
    finally:
        _native._use_kernels(4)
    assert all(weft.equal(a, b) for a, b in zip(*found))


@pytest.mark.parametrize(
    "call, strides",  # as PyTorch 2.13 lays them out: transformed dims innermost, the others as the argument has them
    [
        (lambda y, z: weft.fft.fft(z, dim=1), (12, 1, 3)),
        (lambda y, z: weft.fft.fft(z, dim=0), (1, 8, 2)),
        (lambda y, z: weft.fft.fftn(z, dim=(0, 1)), (3, 1, 6)),
        (lambda y, z: weft.fft.fft(z.permute(2, 0, 1)), (3, 12, 1)),
        (lambda y, z: weft.fft.fft(z.permute(2, 0, 1), dim=1), (2, 1, 8)),
        (lambda y, z: weft.fft.rfft(y, dim=1), (8, 1, 2)),
        (lambda y, z: weft.fft.rfftn(y, dim=(0, 1)), (2, 1, 4)),
        (lambda y, z: weft.fft.irfft(z, dim=1), (16, 1, 4)),
        (lambda y, z: weft.fft.irfft2(z), (18, 6, 1)),
    ],
)
def test_strides(call, strides):
    y = weft.arange(24.0).reshape(2, 3, 4)
    z = weft.complex(y, y + 1)
    made = call(y, z)
    assert made.stride() == strides
    compiled = weft.compile(call, backend="eager")(y, z)
    assert compiled.stride() == strides and weft.equal(compiled, made)


@pytest.mark.parametrize("sizes", [(33, 130), (3, 20, 70), (18, 515), (40, 33)], ids=str)
def test_lines_that_lie_apart_are_transformed_where_they_are(sizes):
    rng = np.random.default_rng(0)
    z = weft.from_numpy((rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)).astype(np.complex64))
    x = weft.from_numpy(rng.standard_normal(sizes).astype(np.float32))
    parts = [lambda t: t[..., 2:], lambda t: t[..., : sizes[-1] // 2 + 1], lambda t: t[::2]]
    for some in [*parts, lambda t: t[:1].expand(t.shape), lambda t: t[1:, ..., 1:]]:
        for name, given in [("fft", z), ("irfft", z), ("fft2", z), ("irfft2", z), ("rfft", x), ("rfft2", x)]:
            transform = getattr(weft.fft, name)
            part = some(given)
            assert np.array_equal(transform(part).numpy(), transform(part.contiguous()).numpy()), name
    for dim in range(len(sizes)):
        part = z[1:, ..., 2:]
        assert np.array_equal(weft.fft.fft(part, dim=dim).numpy(), weft.fft.fft(part.contiguous(), dim=dim).numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [256, 512, 768, 1280, 4096])
def test_halves_of_a_real_spectrum_meet_in_the_middle(n, dtype):
    x = np.random.default_rng(n).standard_normal((3, n)).astype(dtype)
    exact = np.fft.rfft(x.astype(np.float64))
    found = registry["fft_rfft"](weft.from_numpy(x)).numpy()
    assert np.abs(found - exact).max() < 4 * np.finfo(dtype).eps * np.abs(exact).max()
    assert not found.imag[:, [0, -1]].any()
    ones = registry["fft_rfft"](weft.from_numpy(np.ones((1, n), dtype))).numpy()
    assert ones[0, 0] == n and not ones[0, 1:].any()
