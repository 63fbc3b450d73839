"""Tensors from nothing are made on the device: no bytes come from the host, and random numbers are the CPU's."""

import pytest

import weft
from aten import _cuda, errors
from inductor.counters import counters
from inductor.cuda import factories

DTYPES = [weft.float32, weft.float64, weft.float16, weft.bfloat16, weft.complex64, weft.complex128]
INTEGERS = [weft.int64, weft.int32, weft.uint8, weft.bool, weft.float32, weft.bfloat16]
FLOATS = [float("nan"), float("-inf"), -1.5, 2.0**15]
COUNTED = {
    "arange": [lambda d, n=n: weft.arange(n, device=d) for n in (0, 1, 5, 9)],
    "arange of steps": [lambda d: weft.arange(0.5, 7, 0.3, device=d), lambda d: weft.arange(10, -5, -2, device=d)],
    "arange of dtypes": [lambda d, t=t: weft.arange(2, 30, 3, dtype=t, device=d) for t in (*DTYPES, weft.uint8)],
    "full of integers": [lambda d, v=v: weft.full((2, 3), v, device=d) for v in (0, -1, 3, 2**62, True)],
    "full of floats": [lambda d, v=v, t=t: weft.full((2, 3), v, dtype=t, device=d) for v in FLOATS for t in DTYPES],
    "full of complex": [lambda d, t=t: weft.full((3,), 1 + 2j, dtype=t, device=d) for t in (weft.complex64, weft.complex128)],
    "eye": [lambda d: weft.eye(3, 5, device=d), lambda d: weft.eye(1, device=d), lambda d: weft.eye(4, dtype=weft.bool, device=d)],
    "triangles": [
        lambda d, make=make, k=k: make(4, 5, k, device=d) for make in (weft.tril_indices, weft.triu_indices) for k in (-2, 0, 1, 9)
    ],
    "tensor of a number": [lambda d, v=v: weft.tensor(v, device=d) for v in (3.5, 3, True, 1j)],
    "like": [lambda d: weft.ones_like(weft.empty(3, 2, dtype=weft.int64, device=d)), lambda d: weft.rand(3, device=d).new_ones(4)],
    "spaced": [lambda d: weft.linspace(0, 1, 7, device=d), lambda d: weft.logspace(0, 1, 4, device=d)],
    "windows": [
        lambda d: weft.hann_window(8, device=d), lambda d: weft.kaiser_window(6, device=d),
        lambda d: weft.signal.windows.cosine(5, device=d),
    ],
    "frequencies": [lambda d: weft.fft.fftfreq(8, device=d)],
}  # fmt: skip
DRAWN = {
    "rand": [lambda d, t=t: weft.rand(3, 5, dtype=t, device=d) for t in DTYPES],
    "randn": [lambda d, t=t: weft.randn(3, 5, dtype=t, device=d) for t in DTYPES],
    "randint": [lambda d, t=t: weft.randint(0, 2, (7,), dtype=t, device=d) for t in INTEGERS],
    "randint of bounds": [lambda d: weft.randint(-9, 2**31, (7,), device=d), lambda d: weft.randint(5, 2**32 + 5, (7,), device=d)],
    "randperm": [lambda d: weft.randperm(11, device=d)],
    "like": [lambda d: weft.rand_like(weft.empty(3, 4, device=d)), lambda d: weft.randint_like(weft.empty(5, device=d), 9)],
    "in place": [lambda d: weft.empty(3, 4, device=d).normal_(1, 2), lambda d: weft.empty(5, device=d).exponential_()],
    "dropout": [lambda d: weft.nn.functional.dropout(weft.ones(20, device=d))],
}


def compare(make, drawn=False):
    weft.manual_seed(2**64 - 3)
    want = make("cpu")
    weft.manual_seed(2**64 - 3)
    before = _cuda.counts()["copies_from_host"]
    found = make("cuda")
    assert _cuda.counts()["copies_from_host"] == before
    assert found.device.type == "cuda" and found.dtype is want.dtype and found.shape == want.shape
    inexact = drawn and (want.is_floating_point() or want.is_complex())  # (sines and logarithms are the device's)
    weft.testing.assert_close(found.cpu(), want, rtol=1e-6 if inexact else 0, atol=1e-7 if inexact else 0, equal_nan=True)


@pytest.mark.parametrize("name", COUNTED)
def test_of_numbers(device, name):
    for make in COUNTED[name]:
        compare(make, name in ("windows", "spaced"))


@pytest.mark.parametrize("name", DRAWN)
def test_random(device, name):
    for make in DRAWN[name]:
        compare(make, True)


def test_one_kernel_counts_to_any_number(device):
    weft.arange(5, device="cuda")
    before = counters["lowerings"]
    weft.arange(50, device="cuda")
    weft.arange(3, 900, 7, device="cuda")
    assert counters["lowerings"] == before


def test_what_no_kernel_makes_comes_from_the_host_with_a_warning(device, monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.delitem(factories.FORMS, "rand_philox")
    weft.manual_seed(3)
    with pytest.warns(match="rand_philox has no kernel on cuda"):
        found = weft.rand(7, 5, device="cuda")
    weft.manual_seed(3)
    assert found.device == device and found.cpu().equal(weft.rand(7, 5))


def test_factories_without_a_form_are_what_they_are_made_of(device, monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())
    monkeypatch.delitem(factories.FORMS, "eye")
    assert weft.eye(7, 5, device="cuda").cpu().equal(weft.eye(7, 5))


def test_counting_is_captured(device):
    x = weft.zeros(8, dtype=weft.int64, device="cuda")
    weft.arange(8, device="cuda") + x  # (compiled before)
    g = weft.cuda.CUDAGraph()
    with weft.cuda.graph(g):
        y = weft.arange(8, device="cuda") + x
    x.fill_(3)
    g.replay()
    assert y.tolist() == list(range(3, 11))


@pytest.mark.filterwarnings("error:.*made in the host's memory")
@pytest.mark.parametrize("low, high", [(0, 2**40), (-7, 2**33), (-(2**63), 2**63 - 1), (-(2**62), 2**62 + 5), (-3, 2**62 - 3)])
def test_integers_of_more_than_32_bits(device, low, high):
    def run(d):
        weft.manual_seed(1)
        return weft.randint(low, high, (3, 5), device=d)

    assert run(device).cpu().equal(run("cpu"))
