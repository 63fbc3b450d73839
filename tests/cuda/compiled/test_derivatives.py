"""What derivatives make, they make on the device: gradients and tangents there equal the CPU's."""

import pytest

import weft
from aten import errors

X = weft.randn(4, 4, generator=weft.Generator().manual_seed(0), dtype=weft.float64) + 4 * weft.eye(4, dtype=weft.float64)
FUNCTIONS = {
    "irfft": lambda x: weft.fft.irfft(weft.complex(x, x + 1), n=5, norm="ortho"),
    "hfft": lambda x: weft.fft.hfft(x, n=5),
    "rfft": lambda x: weft.view_as_real(weft.fft.rfft(x)),
    "lu_factor": lambda x: weft.linalg.lu_factor(x)[0],
    "eig": lambda x: weft.linalg.eig(x)[0].abs(),
    "solve": lambda x: weft.linalg.solve(x, x.T),
    "cholesky": lambda x: weft.linalg.cholesky(x @ x.T),
    "svd": lambda x: weft.linalg.svdvals(x),
    "inv": weft.linalg.inv,
    "det": weft.linalg.det,
}


@pytest.mark.filterwarnings("ignore:.*runs on the CPU")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_what_goes_through_the_host(device, name):
    def gradient(where):
        x = X.clone().to(where).requires_grad_()
        out = FUNCTIONS[name](x)
        (out * out).sum().backward()
        return out.detach(), x.grad

    want, found = gradient("cpu"), gradient(device)
    for a, b in zip(found, want, strict=True):
        assert a.device == device and a.dtype is b.dtype
        weft.testing.assert_close(a.cpu(), b)


@pytest.mark.filterwarnings("ignore:.*runs on the CPU")
def test_tangents(device):
    f = lambda x: weft.fft.irfft(weft.complex(x, x), n=5)
    found = weft.func.jvp(f, (X.to(device),), (weft.ones_like(X, device=device),))
    for a, b in zip(found, weft.func.jvp(f, (X,), (weft.ones_like(X),)), strict=True):
        weft.testing.assert_close(a.cpu(), b)


def test_an_op_goes_through_the_host_with_one_warning(device, monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())
    with pytest.warns() as seen:
        for n in (3, 4):
            for _ in range(2):
                weft.fft.fft(weft.ones(n, device=device))
    told = [str(w.message) for w in seen]
    assert len(told) == 1 and "fft" in told[0] and "has no kernel on cuda and runs on the CPU" in told[0]
