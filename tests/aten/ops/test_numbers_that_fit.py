"""Numbers as arguments: what their dtype cannot hold is refused, but for one narrow float. Expected: PyTorch 2.13 on a CPU."""

import math

import pytest

import weft
from weft.nn import functional as F

inf = math.inf


def of(n, dtype, *sizes):
    return weft.full(sizes or (2,), n, dtype=dtype)


H, I8, I16, C = weft.float16, weft.int8, weft.int16, weft.complex64
ONES, BYTES, SHORTS, HALVES = weft.ones(2), of(1, I8), of(1, I16), of(1, H)
SQUARE, SQUARE16 = weft.ones(2, 2), of(1, I16, 2, 2)


def written(x, key, value):
    x = x.clone()
    x[key] = value
    return x


REFUSED = {
    "full_like": (lambda: weft.full_like(ONES, 1e300), "float"),
    "full_like of nothing": (lambda: weft.full_like(weft.ones(0), 1e300), "float"),
    "full_like of halves": (lambda: weft.full_like(HALVES, 65505.0), "c10::Half"),
    "full_like of complex numbers": (lambda: weft.full_like(ONES + 0j, 1e300), "c10::complex<float>"),
    "new_full": (lambda: HALVES.new_full((2,), 1e5), "c10::Half"),
    "fill_": (lambda: HALVES.clone().fill_(2**40), "c10::Half"),
    "setitem": (lambda: written(ONES, 0, 1e300), "float"),
    "setitem by tensors": (lambda: written(ONES, weft.tensor([0]), 1e300), "float"),
    "clamp": (lambda: BYTES.clamp(max=1000), "int8_t"),
    "clamp of floats": (lambda: ONES.clamp(-1e300, 2.0), "float"),
    "clamp in place": (lambda: BYTES.clone().clamp_(0, 1000), "int8_t"),
    "clamp of halves": (lambda: HALVES.clamp(min=-1e5), "c10::Half"),
    "where": (lambda: weft.where(BYTES > 0, BYTES, 300), "int8_t"),
    "where of floats": (lambda: weft.where(ONES > 0, 1e300, ONES), "float"),
    "add": (lambda: weft.add(SHORTS, SHORTS, alpha=2**40), "int16_t"),
    "add of floats": (lambda: weft.add(ONES, ONES, alpha=1e300), "float"),
    "sub in place": (lambda: BYTES.clone().sub_(1, alpha=200), "int8_t"),
    "addcmul": (lambda: weft.addcmul(BYTES, BYTES, BYTES, value=300), "int8_t"),
    "addcdiv": (lambda: weft.addcdiv(HALVES, HALVES, HALVES, value=1e300), "float"),
    "lerp": (lambda: weft.lerp(ONES, ONES, 1e300), "float"),
    "addmm": (lambda: weft.addmm(SQUARE16, SQUARE16, SQUARE16, beta=2**40), "int16_t"),
    "addmm with alpha": (lambda: weft.addmm(SQUARE, SQUARE, SQUARE, alpha=1e300), "float"),
    "addmv": (lambda: weft.addmv(HALVES, SQUARE.half(), HALVES, beta=1e5), "c10::Half"),
    "addr": (lambda: weft.addr(SQUARE16, SHORTS, SHORTS, alpha=2**40), "int16_t"),
    "complex factors": (lambda: weft.addmm(SQUARE, SQUARE, SQUARE, beta=1j), "float"),
}
TAKEN = {
    "one half": (lambda: weft.tensor(1.0).half().fill_(2**40), inf),
    "one half of a row": (lambda: weft.full_like(weft.ones(1).half(), 1e5), [inf]),
    "a half of several": (lambda: written(HALVES, 0, 1e5), [inf, 1.0]),
    "a choice of halves": (lambda: weft.where(ONES > 0, 1e5, HALVES), [inf, inf]),
    "factors of halves": (lambda: weft.addcmul(of(0, H), of(1e-3, H), HALVES, value=1e5).gt(99), [True, True]),
    "bytes": (lambda: weft.ones(2, dtype=weft.uint8).clamp(min=-1), [255, 255]),
    "sums of wider integers": (lambda: weft.add(SHORTS, BYTES, alpha=300), [301, 301]),
    "sums of wider floats": (lambda: weft.add(ONES, HALVES, alpha=1e5), [100001.0, 100001.0]),
}


def _compiled(call, compiled):
    weft.compiler.reset()
    return weft.compile(call) if compiled else call


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, compiled):
    call, kind = REFUSED[name]
    with pytest.raises(RuntimeError, match=f"value cannot be converted to type {kind} without overflow"):
        _compiled(call, compiled)()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", TAKEN)
def test_taken(name, compiled):
    call, expected = TAKEN[name]
    assert _compiled(call, compiled)().tolist() == expected


EDGES = {
    "pools of volumes": (
        lambda: F.fractional_max_pool3d(weft.rand(1, 4, 4, 4), 2, 3), RuntimeError, "pool time 2 too large relative to input time 4"
    ),
    "maxima of integers": (lambda: F.max_pool1d(of(1, I8, 1, 1, 4), 2), NotImplementedError, "max_pool1d_impl"),
    "joined": (lambda: weft.stack([ONES, ONES], out=of(1, I8, 2, 2)), TypeError, "can't be cast to the desired output type Char"),
    "means of integers": (lambda: F.adaptive_avg_pool2d(of(1, I16, 1, 4, 4), 1), RuntimeError, "could not infer output dtype"),
    "several means of integers": (lambda: F.adaptive_avg_pool2d(of(1, I16, 1, 4, 4), 2), NotImplementedError, "'Short'"),
    "distances of halves": (lambda: weft.cdist(HALVES[:, None], HALVES[:, None]), NotImplementedError, "'Half'"),
    "distances of two dtypes": (lambda: weft.cdist(SQUARE, SQUARE.double()), RuntimeError, "expected scalar type Float but found"),
    "whole factors": (lambda: weft.addr(SQUARE16, SHORTS, SHORTS, beta=1.5), RuntimeError, "must not be a floating point number"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    call, error, message = EDGES[name]
    with pytest.raises(error, match=message):
        call()


def test_what_needs_no_computing_is_taken():
    assert weft.cdist(weft.ones(2, 0).half(), weft.ones(3, 0).half()).tolist() == [[0.0] * 3] * 2
    assert weft.pdist(weft.ones(1, 2).half()).shape == (0,)
    assert F.max_pool1d(of(3, I8, 1, 1, 4), 2, return_indices=True)[1].tolist() == [[[0, 2]]]
    assert F.adaptive_avg_pool2d(weft.ones(1, 4, 4) * 2j, 1).tolist() == [[[2j]]]


ACTIVATIONS = {
    "hardtanh": (lambda: F.hardtanh(HALVES, -1e5, 1.0), "c10::Half"),
    "threshold": (lambda: F.threshold(ONES, 2.0, 1e300), "float"),
    "leaky_relu": (lambda: F.leaky_relu(HALVES, 1e300), "float"),
    "elu": (lambda: F.elu(ONES, 1e300), "float"),
    "softplus": (lambda: F.softplus(ONES, 1, 1e300), "float"),
    "hardshrink": (lambda: F.hardshrink(HALVES, 1e5), "c10::Half"),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_numbers_of_activations(name, compiled):
    call, kind = ACTIVATIONS[name]
    for _ in range(3):  # calls are replayed from some time on
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {kind} without overflow"):
            _compiled(call, compiled)()
    assert F.leaky_relu(HALVES, 1e5).tolist() == [1.0, 1.0] and F.hardtanh(ONES, -inf, inf).tolist() == [1.0, 1.0]
