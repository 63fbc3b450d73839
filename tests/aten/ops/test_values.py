"""Values that PyTorch has and that an op's samples do not show: complex numbers, halves rounded once, empty tensors."""

import math

import pytest

import aten
import weft
import weft.special
from weft.nn import functional as F

Z = weft.tensor([1 + 2j, -0.5 + 0.25j, 3 - 1j])


def close(x, expected, tolerance=1e-5):
    return aten.allclose(x, weft.tensor(expected, dtype=x.dtype), tolerance, tolerance)


def test_complex_functions_that_take_maxima_do_so_of_the_real_part():
    assert close(weft.logsumexp(Z, 0), complex((Z.exp().sum()).log().item()))
    assert close(weft.logcumsumexp(Z, 0)[2], complex(Z.exp().sum().log().item()))
    assert close(weft.sigmoid(Z), (1 / (1 + (-Z).exp())).tolist()) and close(F.silu(Z), (Z / (1 + (-Z).exp())).tolist())


def test_complex_matrices():
    a = weft.tensor([[1 + 3j, 2.0], [3.5 + 0j, 1j]])  # |1+3j| is the larger one of sqrt(10) and 3.5 only by |re| + |im|
    lu, pivots = weft.linalg.lu_factor(a)
    assert pivots.tolist() == [1, 2] and weft.linalg.matrix_rank(a).item() == 2
    assert close(weft.logdet(a), complex(weft.linalg.det(a).log().item()))
    assert weft.linalg.lstsq(a, a).residuals.dtype is weft.float32


@pytest.mark.parametrize("make", [weft.rand, weft.randn])
def test_random_complex_numbers_have_both_parts(make):
    weft.manual_seed(0)
    x = make(4000, dtype=weft.complex64)
    assert (x.real != x.imag).all() and abs(x.abs().square().mean().item() - (2 / 3 if make is weft.rand else 1)) < 0.1
    assert make(3, dtype=weft.complex128).dtype is weft.complex128


def test_integers_are_rounded_into_halves():
    assert weft.randint(2, 10, (50,), dtype=weft.bfloat16).max() < 10


@pytest.mark.parametrize(
    "f",
    [
        weft.sinc,
        weft.special.entr,
        F.mish,
        F.hardswish,
        lambda x: F.group_norm(x.reshape(2, 4, 8), 2).flatten(),
        lambda x: F.interpolate(x.reshape(1, 4, 4, 4), (5, 5), mode="bilinear").flatten(),
        lambda x: weft.addcdiv(x, x, x * x + 1, value=3.14),
    ],
)
@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_composites_round_halves_once(f, dtype):
    x = weft.linspace(-4, 4, 64).to(dtype)
    out = f(x)
    assert out.dtype is dtype
    assert aten.allclose(out.float(), f(x.float()).to(dtype).float(), 0.02, 1e-6, equal_nan=True)


def test_empty_batches_and_lists():
    x = weft.zeros(0, 3, requires_grad=True)
    y = F.batch_norm(x, weft.zeros(3), weft.ones(3), weft.ones(3), weft.zeros(3), True)
    assert y.shape == (0, 3) and weft.autograd.grad(y.sum(), x)[0].shape == (0, 3)
    assert F.avg_pool2d(weft.ones(1, 1, 4, 4), 2, ()).shape == (1, 1, 2, 2)
    assert weft.ones(3).gather(0, weft.empty(0)).shape == (0,)


def test_bool_accumulates_as_or_and_stays_bool():
    one = weft.tensor([True])
    assert weft.put(one, weft.tensor([0]), weft.tensor([False]), True).tolist() == [True]
    assert weft.addr(weft.tensor([[True]]), one, one, beta=3, alpha=2).dtype is weft.bool


def test_ranges_and_poles():
    assert weft.arange(0, 3.1, dtype=weft.int64).tolist() == [0, 1, 2]
    assert weft.polygamma(2, weft.tensor([0.0, -1.0])).tolist() == [-math.inf, -math.inf]
    for n in (171, 2**31 - 1, 2**62 + 1):  # n! is infinite: it is not computed
        assert weft.polygamma(n, weft.tensor([0.5, 1.0, 0.0])).tolist() == [math.inf] * 3


@pytest.mark.parametrize("p", [1, 5, 16, 17, 5000])
def test_mvlgamma_of_many_dimensions(p):
    x = weft.tensor([[2600.0, 1e5]], dtype=weft.float64, requires_grad=True)
    value = weft.mvlgamma(x, p)
    constant = p * (p - 1) / 4 * math.log(math.pi)
    expected = [constant + math.fsum(math.lgamma(v - j / 2) for j in range(p)) for v in (2600.0, 1e5)]
    assert value.shape == (1, 2) and value.tolist()[0] == pytest.approx(expected, rel=1e-12)
    value.sum().backward()
    slope = [math.fsum(weft.digamma(weft.tensor(v, dtype=weft.float64) - j / 2).item() for j in range(p)) for v in (2600.0, 1e5)]
    assert x.grad.tolist()[0] == pytest.approx(slope, rel=1e-10)


def test_mvlgamma_of_more_dimensions_than_it_can_tell_apart():
    for x in (weft.ones(3), weft.ones(0), weft.ones(())):
        with pytest.raises(RuntimeError, match="logarithms"):
            weft.mvlgamma(x, 2**31)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
def test_istft_undoes_stft(center, onesided):
    x, window = weft.randn(2, 64, dtype=weft.float64), weft.hamming_window(16, dtype=weft.float64)
    spectrum = weft.stft(x, 16, 4, 16, window, center, onesided=onesided, return_complex=True)
    back = weft.istft(spectrum, 16, 4, 16, window, center, onesided=onesided, length=64 if center else None)
    assert back.shape == x.shape and aten.allclose(back, x)
    with pytest.raises(RuntimeError, match="do not cover"):
        weft.istft(spectrum, 16, 16, 16, weft.zeros(16, dtype=weft.float64), center, onesided=onesided)


def test_histograms_take_edges_as_they_are():
    x = weft.tensor([[0.5], [1.5], [2.0], [3.0]])
    assert weft.histogramdd(x, [weft.tensor([0.0, 1.0, 2.0])]).hist.tolist() == [1, 2]
    hist = weft.histogramdd(x, [weft.tensor([0.0, 1.0, 2.0])], weight=weft.tensor([1.0, 2.0, 3.0, 4.0]), density=True).hist
    assert close(hist, [1 / 6, 5 / 6])


# ------------------------------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("error", "call"),
    [
        (NotImplementedError, lambda: Z.amax()),
        (NotImplementedError, lambda: Z.clamp(0, 1)),
        (NotImplementedError, lambda: Z.round()),
        (NotImplementedError, lambda: Z.softmax(0)),
        (NotImplementedError, lambda: Z < Z),
        (NotImplementedError, lambda: Z.relu()),
        (NotImplementedError, lambda: Z.clone().relu_()),
        (NotImplementedError, lambda: Z.unique()),
        (RuntimeError, lambda: Z.sort()),
        (RuntimeError, lambda: Z.argmax()),
        (RuntimeError, lambda: weft.maximum(Z, Z)),
        (NotImplementedError, lambda: weft.tensor([True]).abs()),
        (NotImplementedError, lambda: weft.tensor([True]).round()),
        (RuntimeError, lambda: weft.tensor([True]).argmax()),
        (NotImplementedError, lambda: F.leaky_relu(weft.tensor([1]))),
        (NotImplementedError, lambda: weft.logaddexp(weft.tensor([1]), weft.tensor([1]))),
        (NotImplementedError, lambda: weft.linalg.svd(weft.ones(2, 2, dtype=weft.float16))),
    ],
)
def test_dtypes_that_an_op_refuses(error, call):
    with pytest.raises(error):
        call()


def test_a_dtype_that_is_asked_for_is_what_counts():
    assert Z.real.softmax(0, dtype=weft.float64).dtype is weft.float64
    assert weft.corrcoef(weft.stack([Z, Z * 1j])).is_complex() and weft.linspace(0, 1, 3, dtype=weft.complex64).is_complex()
    assert close(weft.logaddexp(Z, Z), (Z + math.log(2)).tolist())


def test_the_largest_of_bytes():
    x = weft.tensor([[[3, 200, 7, 1]]], dtype=weft.uint8)
    largest = lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True)[0].tolist()
    assert largest(x) == [[[200, 200]]] and largest(x * 0) == [[[0, 0]]]


# ------------------------------------------------------------------------------------------------------ parameters
@pytest.mark.parametrize(
    ("error", "call"),
    [
        (RuntimeError, lambda: weft.bernoulli(weft.tensor([2.0]))),
        (RuntimeError, lambda: weft.zeros(3).bernoulli_(-0.5)),
        (RuntimeError, lambda: weft.zeros(3).exponential_(-1)),
        (RuntimeError, lambda: weft.zeros(3).geometric_(0)),
        (RuntimeError, lambda: weft.zeros(3).normal_(0, -1)),
        (RuntimeError, lambda: weft.zeros(3).uniform_(2, 1)),
        (NotImplementedError, lambda: weft.zeros(3, dtype=weft.int64).normal_()),
        (NotImplementedError, lambda: weft.zeros(3, dtype=weft.int64).uniform_()),
        (RuntimeError, lambda: weft.ones(2).repeat_interleave(weft.tensor([1, -1]))),
        (RuntimeError, lambda: weft.tensor({})),
        (RuntimeError, lambda: weft.tensor([None])),
    ],
)
def test_parameters_that_make_no_sense(error, call):
    with pytest.raises(error):
        call()


def test_the_complex_default_dtype_is_not_printed():
    assert repr(weft.tensor([1 + 2j])) == "tensor([1.+2.j])"


def test_unexpected_keys_are_told_without_strict_too():
    keys = weft.nn.Linear(2, 2).load_state_dict({"weight": weft.ones(2, 2), "other": weft.ones(1)}, strict=False)
    assert keys.unexpected_keys == ["other"] and keys.missing_keys == ["bias"]


def test_norm_of_negative_order_has_no_gradient_at_zero():
    """PyTorch's answers."""
    cases = (([0.0, 1.0, 2.0], 0.0, [0.0, 0.0, 0.0]), ([0.0, 0.0], 0.0, [0.0, 0.0]), ([2.0, 2.0], 1.0, [0.25, 0.25]))
    for values, norm, gradient in cases:
        x = weft.tensor(values, requires_grad=True)
        y = weft.linalg.norm(x, -1)
        y.backward()
        assert y.item() == norm and x.grad.tolist() == gradient


def test_addbmm_writes_into_a_target_of_any_size():
    t = weft.tensor(1.5)
    assert t.addbmm_(weft.ones(2, 5, 3), weft.ones(2, 3, 10)) is t
    assert t.shape == (5, 10) and t[0, 0] == 7.5


def test_gather_by_an_empty_index_of_any_dtype_differentiates():
    x = weft.ones(3, requires_grad=True)
    weft.gather(x, 0, weft.empty(0, dtype=weft.uint8)).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_distances_by_products():
    """More than 25 rows; values and gradients of the direct way, no gradient where the distance is 0 (as PyTorch 2.13)."""
    weft.manual_seed(0)
    a = weft.randn(30, 4, dtype=weft.float64, requires_grad=True)
    b = weft.cat([a.detach()[:2], weft.randn(5, 4, dtype=weft.float64)]).requires_grad_()
    got, want = weft.cdist(a, b), weft.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    assert (got - want).abs().max() < 1e-7
    weight = weft.rand(30, 7, dtype=weft.float64)
    weight[0, 0] = weight[1, 1] = 0
    ours, theirs = (weft.autograd.grad((d * weight).nan_to_num().sum(), (a, b)) for d in (got, want))
    assert all((x - y).abs().max() < 1e-9 for x, y in zip(ours, theirs))
    assert weft.cdist(weft.ones(2, 30, 3), weft.ones(1, 5, 3)).tolist() == weft.zeros(2, 30, 5).tolist()
    with pytest.raises(ValueError, match="compute_mode"):
        weft.cdist(a, b, compute_mode="quickly")


def test_the_mode_is_the_smallest_of_the_most_frequent_and_its_last_place():
    x = weft.tensor([[3, 1, 3, 1, 2], [5, 5, 5, 0, 0], [4, 3, 2, 1, 0]])
    assert [r.tolist() for r in x.mode(1)] == [[1, 5, 0], [3, 2, 4]]
    assert [r.tolist() for r in x.t().mode(0, True)] == [[[1, 5, 0]], [[3, 2, 4]]]
    assert [r.tolist() for r in weft.tensor([float("nan"), 2.0, 2.0]).mode()] == [2.0, 2]
    assert weft.randint(0, 50, (4, 100000)).mode(1)[0].shape == (4,)  # (not a table of all pairs)


def test_linspace_rounds_once():
    """What PyTorch 2.13 gives, made with `torch.linspace(a, b, n).numpy().tobytes().hex()`: a fused multiply-add a value."""
    assert weft.linspace(-1, 1, 7).numpy().tobytes().hex() == "000080bfaaaa2abfaaaaaabe000000b3aaaaaa3eaaaa2a3f0000803f"
    assert weft.linspace(1e-4, 0.02, 6).numpy().tobytes().hex() == "17b7d13885b1853b170e043c6b43453c603c833c0ad7a33c"


def test_identity_grids_hit_the_middles_of_pixels():
    """affine_grid of the identity, and grid_sample there: the side on which a derivative is taken is PyTorch's."""
    theta = weft.tensor([[[1.0, 0, 0], [0, 1, 0]]])
    grid = weft.nn.functional.affine_grid(theta, [1, 1, 7, 7], align_corners=False).requires_grad_()
    row = grid.detach()[0, 0, :, 0].contiguous()
    assert row.numpy().tobytes().hex() == "b76d5bbf244912bf244992beb76ddbb22449923e2449123fb76d5b3f"
    image = (weft.arange(49.0) ** 2).reshape(1, 1, 7, 7)
    out = weft.nn.functional.grid_sample(image, grid, align_corners=False)
    out.sum().backward()
    assert grid.grad[0, 3, :, 0].tolist() == [1543.5, 157.5, 164.5, 171.5, 178.5, 185.5, -2551.5]


def test_bounds_of_several_dtypes_are_promoted_together():
    x, single, double = weft.ones(2, dtype=weft.bool), weft.ones(2), weft.ones(2, dtype=weft.float64)
    assert weft.clamp(x, double[0], single).dtype is weft.float32  # PyTorch 2.13's answers
    assert weft.clamp(x, single[0], double[0]).dtype is weft.float64
    assert weft.clamp(x, single, double).dtype is weft.float64


def test_gradient_at_complex_places_of_a_real_function_is_complex():
    (slope,) = weft.gradient(weft.tensor([0.0, 1.0, 4.0]), spacing=[weft.tensor([0j, 1j, 2j])], dim=0)
    assert slope.dtype is weft.complex64
    assert slope.tolist() == [-1j, -2j, -3j]


@pytest.mark.parametrize("compiled", [False, True])
def test_digits_of_halves_are_rounded_in_float32(compiled):
    # PyTorch 2.13: torch.round(torch.tensor([710, 60000, 1234.5678, 33.333], dtype=torch.float16), decimals=2).tolist()
    f = lambda x: weft.round(x, decimals=2)
    x = weft.tensor([710, 60000, 1234.5678, 33.333], dtype=weft.float16)
    assert (weft.compile(f) if compiled else f)(x).tolist() == [710.0, 60000.0, 1235.0, 33.34375]
