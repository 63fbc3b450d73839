"""Native softmax, norms, variance, logsumexp, cumsum and argmax equal their general paths: dtypes, layouts, lengths, NaN."""

import numpy as np
import pytest

import aten
import weft
from aten import _native
from aten import dtype as dtypes
from aten.op import registry
from tests.aten.native.oracle import general

rng = np.random.default_rng(2)
FLOATS = ("float32", "float64", "bfloat16", "float16")
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 4e-2, "float16": 5e-3}
LENGTHS = (1, 7, 16, 17, 64, 67, 130, 5000)


def make(sizes, dtype="float32", layout="plain"):
    if layout == "transposed":
        return make(sizes[::-1], dtype).permute(list(range(len(sizes)))[::-1]).detach()
    if layout == "strided":
        return make((*sizes[:-1], 2 * sizes[-1]), dtype)[..., ::2].detach()
    return aten.from_numpy(rng.uniform(-2.0, 3.0, sizes)).to(getattr(dtypes, dtype))


def agree(name, args, tolerance, **kwargs):
    op = registry[name]
    _native.python_entries(True)
    results = op(*args, **kwargs)
    entered = _native.python_entries(True)
    expected = general(op, args, kwargs)
    for a, b in zip(*([t] if hasattr(t, "dtype") else t for t in (results, expected)), strict=True):
        assert (a.dtype, tuple(a.shape), a.stride()) == (b.dtype, tuple(b.shape), b.stride())
        x, y = (np.asarray(t.detach().to(dtypes.float64)) for t in (a, b))
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    return name not in entered


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", LENGTHS)
def test_rows(dtype, n):
    tolerance = TOLERANCE[dtype]
    for layout in ("plain", "transposed", "strided"):
        x = make((5, n), dtype, layout)
        w, b = make((n,), dtype), make((n,), dtype)
        assert agree("softmax", (x, -1), tolerance)
        assert agree("log_softmax", (x, 1), tolerance)
        assert agree("rms_norm", (x, [n], w), tolerance)
        assert agree("rms_norm", (x, [n], None, 1e-3), tolerance)
        assert agree("softmax", (x, 0), tolerance) and agree("log_softmax", (x, 0), tolerance)
        assert agree("var", (x, 0), tolerance * 4)
        assert agree("logsumexp", (x, 1), tolerance)
        assert agree("argmax", (x, 1), 0) and agree("argmin", (x, 1, True), 0) and agree("argmax", (x, 0), 0)
        agree("argmax", (x,), 0)
        if n > 1:
            assert agree("layer_norm", (x, [n], w, b), 10 * tolerance)
            assert agree("var", (x, 1), tolerance * 4)


@pytest.mark.parametrize("dtype", FLOATS)
def test_reduced_dims_anywhere(dtype):
    tolerance = 4 * TOLERANCE[dtype]
    for layout in ("plain", "transposed"):
        x = make((3, 4, 5, 33), dtype, layout)
        for dim in (None, 0, 1, -1, (0, 2), (0, 3), (1, 2), (0, 1, 2, 3)):
            assert agree("var", (x, dim), tolerance)
            assert agree("var_mean", (x, dim, 0, True), tolerance)
            if dim is not None:
                assert agree("logsumexp", (x, dim, True), tolerance)
            if type(dim) is int:
                assert agree("softmax", (x, dim), tolerance) and agree("log_softmax", (x, dim), tolerance)
    agree("var", (x, 1), tolerance, unbiased=False)
    agree("var", (make((3, 0), dtype), 0), tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_cumsum(dtype):
    for sizes in ((3, 40), (4, 17, 5), (1, 1), (2, 3, 600), (5, 1000), (9,)):
        x = make(sizes, dtype)
        for dim in range(-1, len(sizes)):
            result = np.asarray(x.cumsum(dim).to(dtypes.float64))
            exact = np.asarray(x.to(dtypes.float64)).cumsum(dim)
            np.testing.assert_allclose(result, exact, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 30)
            assert x.cumsum(dim).is_contiguous()
    x = make((4, 6), "float32", "transposed")
    np.testing.assert_allclose(np.asarray(x.cumsum(1)), np.asarray(x).cumsum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_batch_and_group_norm(dtype):
    tolerance = 4 * TOLERANCE[dtype]
    with aten.no_grad():
        for sizes in ((3, 4, 5, 5), (2, 6, 33), (4, 2, 70, 70)):
            x, c = make(sizes, dtype), sizes[1]
            w, b, mean, var = make((c,), dtype), make((c,), dtype), make((c,), dtype), make((c,), dtype).abs() + 0.5
            assert agree("batch_norm", (x, mean, var, w, b), tolerance)
            assert agree("batch_norm", (x, mean, var), tolerance)
            assert agree("batch_norm", (x, None, None, w, b, True), tolerance)
            assert agree("group_norm", (x, 2, w, b), tolerance)
            assert agree("group_norm", (x, c), tolerance)
        for sizes in ((5, 3), (2, 70), (200, 64), (130, 129), (1, 5)):  # a channel is a column
            x, c = make(sizes, dtype), sizes[1]
            w, b, mean, var = make((c,), dtype), make((c,), dtype), make((c,), dtype), make((c,), dtype).abs() + 0.5
            own = dtype in ("float32", "float64")
            own_statistics = (None, None, w, b, True), (None, None, None, None, True)
            for given in ((mean, var, w, b), (mean, var), (mean, var, None, b), *own_statistics):
                if sizes[0] > 1 or given[-1] is not True:
                    assert agree("batch_norm", (x, *given), tolerance) or not own
        agree("batch_norm", (make((3, 4, 5, 5), "float32", "transposed"), None, None, None, None, True), tolerance)


def test_batch_norm_follows_the_running_statistics():
    for sizes in ((3, 4, 5, 5), (9, 4)):
        check_running_statistics(sizes)


def check_running_statistics(sizes):
    x, op = make(sizes), registry["batch_norm"]
    a, b = ([make((4,)), make((4,)).abs() + 0.5] for _ in range(2))
    with aten.no_grad():
        for to, source in zip(b, a):
            to.copy_(source)
        versions = [t._version for t in a]
        op(x, *a, None, None, True, 0.3)
        general(op, (x, *b, None, None, True, 0.3))
    for one, two in zip(a, b):
        np.testing.assert_allclose(np.asarray(one), np.asarray(two), rtol=1e-5, atol=1e-6)
    assert [t._version for t in a] == [v + 1 for v in versions]
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        op(make((1, 4)), None, None, None, None, True)


def test_nan_and_infinities():
    inf, nan = float("inf"), float("nan")
    y = np.array([[-inf] * 40, [0.0] * 20 + [nan] + [5.0] * 19, [1.0] * 39 + [inf], [-inf] + [2.0] * 39], np.float32)
    x = aten.from_numpy(y)
    for name in ("softmax", "log_softmax", "logsumexp", "argmax", "argmin", "cumsum", "var"):
        with np.errstate(all="ignore"):
            agree(name, (x, 1), 1e-5)
            agree(name, (x, 0), 1e-5)


def test_gradients_of_the_native_path():
    for name, rest in (
        ("var", (1,)),
        ("logsumexp", (1,)),
        ("cumsum", (1,)),
        ("rms_norm", ([9],)),
        ("batch_norm", (None, None, None, None, True)),
    ):
        grads = []
        y = rng.uniform(-1, 1, (4, 9))
        for call in (registry[name], lambda *args, op=registry[name]: general(op, args)):
            x = aten.from_numpy(y).requires_grad_()
            out = call(x, *rest)
            (out * out.detach().sin()).sum().backward()
            grads.append(np.asarray(x.grad))
        np.testing.assert_allclose(grads[0], grads[1], rtol=1e-9, atol=1e-12)
    x = aten.from_numpy(y).requires_grad_()
    var, mean = registry["var_mean"](x, 1)
    (var + mean * 2).sum().backward()
    np.testing.assert_allclose(np.asarray(x.grad), (y - y.mean(1, keepdims=True)) * 2 / 8 + 2 / 9, rtol=1e-9)


def test_threads_change_nothing():
    x, w = make((200, 16, 40)), make((16,))
    before, results = _native.get_num_threads(), []
    try:
        for threads in (1, 2):
            _native.set_num_threads(threads)
            with aten.no_grad():
                out = [
                    x.softmax(-1),
                    x.cumsum(1),
                    x.cumsum(2),
                    x.var((0, 2)),
                    x.var(0),
                    x.softmax(0),
                    x.log_softmax(1),
                    x.argmax(1),
                    x.logsumexp([0]),
                ]
                out += [registry["batch_norm"](x, None, None, w, None, True), registry["group_norm"](x, 4, w)]
            results.append([np.asarray(t) for t in out])
    finally:
        _native.set_num_threads(before)
    for one, two in zip(*results):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rms_norm_without_eps_takes_that_of_the_dtype_it_is_computed_in(dtype):
    """Small halves keep their size: an eps of half precision would swallow them. PyTorch 2.13 gives these values."""
    dtype = getattr(weft, dtype)
    x = weft.full((2, 8), 1e-3, dtype=dtype)
    rms_norm = weft.nn.functional.rms_norm
    for f in (rms_norm, weft.compile(rms_norm)):
        value = float(f(x, (8,))[0, 0])
        assert abs(value - (1.0 if dtype is weft.float64 else 0.945)) < 4e-3
