"""What ops answer for arguments that few programs give: repeated places, bytes, ends of ranges. (Asked of PyTorch 2.13.)"""

import math

import pytest

import weft

F = weft.nn.functional
INF, NAN = math.inf, math.nan


def slopes(f, *xs):
    xs = [x.clone().requires_grad_() for x in xs]
    return [g.tolist() for g in weft.autograd.grad(f(*xs).sum(), xs)]


def test_a_place_named_twice_counts_once_in_the_gradient_of_what_fills_it():
    rows, at = weft.arange(6.0).view(3, 2), weft.tensor([0, 0, 2])
    for fill in (lambda x, v: x.index_fill(0, at, v), lambda x, v: (x * 1).index_fill_(0, at, v)):
        of_x, of_value = slopes(lambda x, v, fill=fill: fill(x, v) * rows, weft.ones(3, 2), weft.tensor(2.0))
        assert of_x == [[0, 0], [2, 3], [0, 0]] and of_value == 10


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int32, weft.int64])
def test_tensordot_keeps_integers_where_a_dim_of_one_meets_more(dtype):
    a, b = weft.ones(1, 1, 1, dtype=dtype), weft.ones(2, 1, 2, dtype=dtype)
    y = weft.tensordot(a, b, dims=([0, 1], [2, 0]))
    assert y.dtype is dtype and y.tolist() == [[4]]


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16, weft.float32])
def test_places_of_one_element_have_no_dims(dtype):
    x = weft.tensor(1.0, dtype=dtype)
    assert [tuple(y.shape) for y in weft.unique(x, return_inverse=True)] == [(1,), ()]
    assert [tuple(y.shape) for y in weft.unique_consecutive(x, return_inverse=True)] == [(1,), ()]


def test_losses_of_bytes_and_of_one_class():
    one = lambda *x: weft.tensor(x, dtype=weft.uint8)
    y = F.margin_ranking_loss(one(3, 200), one(5, 100), one(1, 1), margin=1, reduction="none")
    assert y.dtype is weft.float32 and y.tolist() == [3, 157]
    assert F.multi_margin_loss(weft.ones(5), weft.tensor([1]), reduction="none").shape == (1,)
    assert F.multi_margin_loss(weft.ones(5), weft.tensor(1), reduction="none").shape == ()


def test_slopes_at_the_ends():
    assert slopes(F.relu, weft.tensor([NAN, 1.0, 0.0])) == [[1, 1, 0]]
    assert slopes(weft.angle, weft.tensor([NAN, -1.0, INF])) == [[0, 0, 0]]
    assert slopes(weft.special.i1e, weft.tensor([NAN, 0.0])) == [[0.5, 0.5]] == slopes(weft.special.i1, weft.tensor([NAN, 0.0]))
    assert slopes(lambda x: weft.copysign(x, -1.0), weft.tensor([2.0, 0.0]))[0] == [-1, 0]
    assert math.isnan(slopes(lambda x: weft.copysign(x, 1.0), weft.tensor([INF]))[0][0])
    zero = weft.tensor([0.0])
    for y in (0.0, -1.0, INF, 2.0):
        of_x = slopes(lambda x, y=y: weft.xlogy(x, weft.tensor([y])) * 0, zero)[0]
        assert of_x == [0], y


def test_incomplete_gamma_functions_of_large_and_endless_arguments():
    a = weft.tensor([1e30, 1e10, 1e5, 1e20, 1e7, 300.0], dtype=weft.float64)
    want = [0.5, 0.50000132981, 0.50042052208, 0.5, 0.50004205220, 0.5076776606]
    assert weft.allclose(weft.igamma(a, a), weft.tensor(want, dtype=weft.float64), atol=1e-9)
    assert weft.allclose(weft.igammac(a, a), 1 - weft.tensor(want, dtype=weft.float64), atol=1e-9)
    near = weft.igamma(weft.tensor([30.0, 30.0, 1000.0]).double(), weft.tensor([25.0, 37.0, 1010.0]).double())
    assert weft.allclose(near, weft.tensor([0.1821039, 0.8943658, 0.6276789], dtype=weft.float64), atol=1e-6)
    x = weft.igamma(weft.tensor([NAN, NAN, INF, INF]), weft.tensor([0.0, INF, NAN, INF]))
    assert x.tolist()[:3] == [0, 1, 0] and x[3].isnan()


def test_polynomials_of_degrees_that_are_none():
    for name in ("chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "hermite_polynomial_h", "legendre_polynomial_p"):
        f = getattr(weft.special, name)
        x = weft.tensor([0.3, 2.0, INF, NAN])
        for n in (NAN, INF, -INF, -1.0, 1e30):
            assert f(x, weft.tensor(n)).tolist() == [0, 0, 0, 0]
    # By angles, and soon beyond all numbers.
    t = weft.special.chebyshev_polynomial_t(weft.tensor([0.5, 1.0, -1.0, 3.0]), weft.tensor(1e9))
    assert abs(t[0].item()) <= 1 and t[1:3].tolist() == [1, 1] and t[3].isnan()
    assert weft.special.hermite_polynomial_h(weft.tensor([0.5]), weft.tensor(1e6)).isnan().all()


def test_bessel_functions_have_no_value_at_infinity():
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai"):
        assert getattr(weft.special, name)(weft.tensor([INF, 1.0])).isnan().tolist() == [True, False]


def test_private_names():
    y = weft._chunk_cat([weft.arange(6.0).view(3, 2), weft.ones(1, 2)], 0, 2)
    assert y.tolist() == [[0, 1, 2, 3, 1, 1], [4, 5, 0, 0, 0, 0]]
    x, mean, var = weft.randn(3, 2), weft.zeros(2), weft.ones(2)
    assert weft._native_batch_norm_legit(x, None, None, mean, var, True, 0.1, 1e-5)[1].shape == (2,) and mean.ne(0).all()
    assert weft._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)[0].shape == (3, 2)
    assert weft.ops.aten._batch_norm_with_update(x, None, None, mean, var, 0.1, 1e-5)[3].dtype is weft.uint8


@pytest.mark.parametrize(
    "error, call",
    [
        (NotImplementedError, lambda: weft.special.bessel_j0(weft.ones(2).half())),
        (NotImplementedError, lambda: weft.special.chebyshev_polynomial_t(weft.ones(2).bfloat16(), weft.ones(2))),
        (RuntimeError, lambda: weft.fft.fft(weft.ones(4).half())),
        (RuntimeError, lambda: weft.isin(weft.ones(2, dtype=weft.complex64), weft.ones(2))),
        (NotImplementedError, lambda: F.adaptive_avg_pool2d(weft.ones(1, 4, 4, dtype=weft.int64), 2)),
        (NotImplementedError, lambda: F.avg_pool2d(weft.ones(1, 4, 4, dtype=weft.int32), 2)),
        (NotImplementedError, lambda: F.mse_loss(weft.ones(2, dtype=weft.complex64), weft.ones(2, dtype=weft.complex64))),
        (NotImplementedError, lambda: F.group_norm(weft.ones(1, 4, 4, dtype=weft.int64), 2)),
        (RuntimeError, lambda: F.max_pool1d(weft.ones(1, 4), 2, padding=-1)),
        (RuntimeError, lambda: weft.masked_fill(weft.ones(2).int(), weft.tensor([True, False]), weft.tensor(1j))),
        (RuntimeError, lambda: weft.masked_scatter(weft.ones(2), weft.ones(2).byte(), weft.ones(2))),
        (RuntimeError, lambda: weft.narrow(weft.ones(3), 0, weft.tensor(True), 1)),
        (TypeError, lambda: weft.xlogy(2, 3)),
        (RuntimeError, lambda: weft.ones(2, dtype=weft.complex64).abs_()),
        (ValueError, lambda: F.multi_margin_loss(weft.ones(2, 2), weft.zeros(2).long(), weight=weft.ones(()))),
        (ValueError, lambda: F.multilabel_margin_loss(weft.ones(2, 2), weft.ones(2, 2), reduction="abc")),
    ],
)
def test_classes_of_errors(error, call):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("run", [lambda f: f, lambda f: weft.compile(f, fullgraph=True)])
def test_images_of_bytes_are_resized_by_weights_of_15_bits(run):
    x = weft.tensor([[3, 200, 7], [90, 11, 250], [1, 2, 255]], dtype=weft.uint8).view(1, 1, 3, 3)
    resize = lambda **kw: run(lambda x: F.interpolate(x, **kw))(x).flatten().tolist()
    assert resize(size=(5, 2), mode="bilinear") == [52, 55, 59, 109, 70, 190, 29, 191, 1, 192]
    assert resize(size=(2, 5), mode="bicubic") == [26, 83, 157, 109, 58, 26, 8, 0, 158, 255]


def test_what_is_made_beside_its_argument_is_row_major():
    x = weft.arange(24.0).view(2, 3, 4)
    assert x[:, :, ::2].ravel().stride() == (1,) and x[:, :, ::4].ravel().stride() == (1,)
    assert weft.diag_embed(x, 1, 0, -1).stride() == (30, 15, 5, 1)


def test_integers_counted_from_numbers():
    assert weft.arange(-0.9, 2.1, 2.0, dtype=weft.int32).tolist() == [0, 2]
    assert weft.arange(-0.9, 2.1, 2.0, dtype=weft.int64).tolist() == [0]
    assert weft.arange(0.5, 5.9, 1.5, dtype=weft.uint8).tolist() == [0, 1, 2, 3]
    with pytest.raises(NotImplementedError):
        weft.arange(3, dtype=weft.bool)


@pytest.mark.parametrize("name", ["equal", "allclose"])
def test_whether_tensors_are_equal_is_what_data_decides(name):
    same, a, b = getattr(weft, name), weft.tensor([1.0, 2.0]), weft.tensor([1.0, 3.0])
    f = weft.compile(lambda x, y: same(x, y), fullgraph=True)
    assert f(a, b) is False and f(a, a.clone()) is True
    branch = lambda x, y: x + 1 if same(x, y) else y
    assert weft.compile(branch)(a, b) is b and weft.compile(branch)(a, a.clone()).tolist() == [2, 3]
    with pytest.raises(weft._dynamo.exc.Unsupported):
        weft.compile(branch, fullgraph=True)(a, b)


def test_degrees_of_polynomials_are_bounded(monkeypatch):
    from aten.ops import orthogonal

    monkeypatch.setattr(orthogonal, "MOST_TERMS", 1000)
    for f in (weft.special.laguerre_polynomial_l, weft.special.legendre_polynomial_p):
        assert f(weft.tensor([0.5]), 900).isfinite().all()
        with pytest.raises(RuntimeError, match="a polynomial of degree 1099511627776 takes more than 1000 terms"):
            f(weft.tensor([0.5, 0.0]), 1 << 40)


def test_vander_takes_its_order_by_position():
    assert weft.vander(weft.arange(3.0), 3, True).tolist() == [[1, 0, 0], [1, 1, 1], [1, 2, 4]]


@pytest.mark.parametrize("compiled", [False, True])
def test_norm_takes_out_and_dtype_by_position(compiled):
    def run(f):
        weft.compiler.reset()
        return (weft.compile(f) if compiled else f)(x, weft.empty(2))

    x = weft.tensor([[3.0, 4.0], [5.0, 12.0]])
    assert run(lambda x, out: weft.norm(x, 2, 1, False, out).add(0)).tolist() == [5.0, 13.0]
    assert run(lambda x, out: (weft.norm(x, "fro", 1, False, out), out)[1]).tolist() == [5.0, 13.0]
    for f in (lambda x, out: weft.norm(x, 2, 1, True, None, weft.float64), lambda x, out: x.norm(2, 1, True, weft.float64)):
        assert run(f).dtype is weft.float64 and run(f).tolist() == [[5.0], [13.0]]
    out = weft.empty(2, dtype=weft.float64)
    assert weft.norm(x, 2, 1, False, out, weft.float64) is out and out.tolist() == [5.0, 13.0]
    with pytest.raises(TypeError):
        weft.norm(x, 2, 1, False, None, weft.float64, None)
