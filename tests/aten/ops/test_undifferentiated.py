"""Special functions that PyTorch (2.13) does not differentiate: results require no grad, transforms see constants."""

import pytest

import weft

FUNCTIONS = (
    "bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 "
    "scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 airy_ai"
).split()
POLYNOMIALS = [
    *[f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"],
    *["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"],
]


@pytest.mark.parametrize("name", [*FUNCTIONS, *POLYNOMIALS])
def test_results_are_constants(name):
    function = getattr(weft.special, name)
    f = function if name in FUNCTIONS else lambda x: function(x, weft.tensor([2.0, 3.0]))
    x = weft.tensor([0.5, 0.75], requires_grad=True)
    assert not f(x).requires_grad and f(x).grad_fn is None
    with pytest.raises(RuntimeError, match="does not require grad"):
        f(x).sum().backward()
    x = x.detach()
    assert weft.func.grad(lambda x: f(x).sum())(x).tolist() == [0, 0]
    value, tangent = weft.func.jvp(f, (x,), (weft.ones(2),))
    assert weft.equal(value, f(x)) and tangent.tolist() == [0, 0]


def test_compiled():
    f = lambda x: weft.special.bessel_j0(x) + weft.special.legendre_polynomial_p(x, weft.tensor([2.0, 3.0]))
    x = weft.tensor([0.5, 0.75], requires_grad=True)
    assert not weft.compile(f)(x).requires_grad
    assert weft.allclose(weft.compile(f)(x), f(x))


def test_what_they_are_made_of_is_differentiated():
    x = weft.tensor([0.5, 1.5], requires_grad=True)
    (slope,) = weft.autograd.grad(weft.special.i0(x).sum(), x)
    assert weft.allclose(slope, weft.special.modified_bessel_i1(x))
    for f in (weft.special.gammainc, weft.special.gammaincc, weft.special.zeta):
        assert f(x, x).requires_grad


def test_dtypes():
    for dtype in (weft.float16, weft.bfloat16, weft.complex64):
        for f in (weft.special.modified_bessel_i0, weft.special.modified_bessel_i1, weft.special.log_ndtr):
            with pytest.raises(NotImplementedError, match="not implemented for"):
                f(weft.ones(2, dtype=dtype))
    for f in (weft.special.gammainc, weft.special.gammaincc):
        with pytest.raises(TypeError):
            f(weft.ones(2), 2)
        with pytest.raises(TypeError):
            f(2, weft.ones(2))
