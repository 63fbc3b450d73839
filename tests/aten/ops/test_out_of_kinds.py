"""Real results into a complex `out=`, and complex ones into a real one: what PyTorch takes and what it refuses."""

import pytest

import weft

Z, R = weft.ones(3, 3, dtype=weft.complex64), weft.ones(3, 3)


@pytest.mark.parametrize("name", ["irfft", "irfft2", "irfftn", "hfft", "hfft2", "hfftn"])
def test_transforms_to_real_numbers(name):
    shown = name.replace("2", "n")
    for dtype, called in ((weft.complex64, "ComplexFloat"), (weft.int64, "Long")):
        with pytest.raises(RuntimeError, match=f"^{shown} expects a floating point output tensor, but got {called}$"):
            getattr(weft.fft, name)(Z, out=weft.empty(0, dtype=dtype))
    out = weft.empty(0, dtype=weft.float64)
    assert getattr(weft.fft, name)(Z, out=out) is out and out.dtype is weft.float64


@pytest.mark.parametrize("name", ["fft", "fftn", "rfft", "ihfft"])
def test_transforms_to_complex_numbers(name):
    with pytest.raises(RuntimeError, match=f"^{name} expects a complex output tensor, but got Float$"):
        getattr(weft.fft, name)(R, out=weft.empty(0))
    out = weft.empty(0, dtype=weft.complex128)
    assert getattr(weft.fft, name)(R, out=out).dtype is weft.complex128


@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads(name):
    function, complex_out = getattr(weft, name), lambda: weft.empty(0, dtype=weft.complex64)
    for x in (R, R.double()):
        with pytest.raises(NotImplementedError, match="\"std_cpu\" not implemented for 'ComplexFloat'"):
            function(x, 0, out=complex_out())
    assert function(R, out=complex_out()).item() == 0 and function(Z, 0, out=complex_out()).tolist() == [0, 0, 0]
