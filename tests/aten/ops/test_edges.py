"""Edges of ops, as PyTorch 2.13 has them: NaN coordinates, nothing to reduce, bools, halves beside integers, slopes at zero."""

import math

import pytest

import weft
import weft.special
from weft.nn import functional as F

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_coordinates_that_are_nan_lie_at_zero(padding, mode):
    image = weft.arange(4.0).reshape(1, 1, 2, 2)
    grid = weft.tensor([[[[NAN, 1.0], [1.0, NAN], [NAN, NAN]]]])
    assert F.grid_sample(image, grid, mode, padding, True).tolist() == [[[[2.0, 1.0, 0.0]]]]
    grid = weft.tensor([[[[NAN, 1.0]]]], dtype=weft.float64, requires_grad=True)
    F.grid_sample(image.double(), grid, mode, padding, True).sum().backward()
    assert grid.grad[0, 0, 0, 0] == 0


def test_bincount_wants_a_weight_of_each():
    with pytest.raises(RuntimeError, match="same length"):
        weft.bincount(weft.tensor([1, 2]), weft.tensor([1.0, 2.0, 3.0]))


def test_index_add_of_bools_times_a_number():
    for alpha, expected in ((1, True), (0, False), (2, True)):
        found = weft.zeros(3, dtype=weft.bool).index_add(0, weft.tensor([1]), weft.tensor([True]), alpha=alpha)
        assert found.dtype is weft.bool and found.tolist() == [False, expected, False]


def test_the_median_of_nothing():
    for name, expected in (("int8", 0), ("uint8", 0), ("int32", -(1 << 31)), ("int64", -(1 << 63))):
        assert weft.median(weft.zeros(0, dtype=getattr(weft, name))).item() == expected
    x = weft.zeros(0, 3, requires_grad=True)
    x.median().backward()
    assert x.grad.shape == (0, 3)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_functions_of_a_half_and_an_integer_are_halves(dtype):
    x, y = weft.full((2,), 3.0, dtype=dtype), weft.ones(2, dtype=weft.int8)
    for f in (weft.xlogy, weft.ldexp, weft.logaddexp, weft.logaddexp2, weft.special.xlog1py):
        assert f(x, y).dtype is dtype and f(y, x).dtype is dtype, f


def test_ldexp_of_halves_is_rounded_once():
    x = weft.tensor([2.0**-14, 2.0**14], dtype=weft.float16)
    assert weft.ldexp(x, weft.tensor([20, -30])).tolist() == [64.0, 2.0**-16]


def test_second_derivatives_of_the_norm_of_complex_numbers_of_which_one_is_zero():
    z = weft.tensor([0j, 3 + 4j], dtype=weft.complex128, requires_grad=True)
    (g,) = weft.autograd.grad(weft.linalg.vector_norm(z), z, create_graph=True)
    (gg,) = weft.autograd.grad(weft.real(g * g.conj()).sum() + weft.real(g[0]), z)
    assert weft.allclose(gg, weft.tensor([0.2 + 0j, 0j], dtype=weft.complex128), atol=1e-12)


def test_group_norm_of_one_number_a_group_is_refused():
    with pytest.raises(ValueError, match="more than 1 value"):
        F.group_norm(weft.ones(1, 3), 3)
    x = weft.tensor([[1.0, 2.0, 7.0], [4.0, 5.0, 6.0]])
    assert F.group_norm(x, 3).tolist() == [[0.0] * 3] * 2
    value, slope = weft.func.jvp(lambda x: F.group_norm(x, 3), (x,), (x,))  # by its definition
    assert value.tolist() == slope.tolist() == [[0.0] * 3] * 2


DRAWS = [
    lambda p: weft.bernoulli(p),
    lambda p: weft.zeros(3).bernoulli_(p),
    lambda p: p.clone().bernoulli_(0.5),
    lambda p: weft.normal(p, 1.0),
    lambda p: weft.normal(0.0, p),
    lambda p: weft.normal(p, p),
    lambda p: p.clone().uniform_(),
    lambda p: p.clone().random_(),
    lambda p: weft.poisson(p),
]


@pytest.mark.parametrize("draw", range(len(DRAWS)))
def test_random_numbers_have_no_slope_in_what_they_are_drawn_for(draw):
    p = weft.full((3,), 0.5, requires_grad=True)
    DRAWS[draw](p).sum().backward()
    assert p.grad.tolist() == [0.0] * 3


def test_slopes_of_determinants_of_singular_matrices_and_of_nan():
    a = weft.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, NAN], [3.0, 4.0]], [[2.0, 1.0], [1.0, 3.0]]], requires_grad=True)
    weft.linalg.det(a).sum().backward()
    assert weft.allclose(a.grad[0], weft.tensor([[4.0, -2.0], [-2.0, 1.0]])) and a.grad[1].isnan().all()
    assert weft.allclose(a.grad[2], weft.tensor([[3.0, -1.0], [-1.0, 2.0]]))


def test_a_median_that_is_nan_takes_the_gradient():
    x = weft.tensor([1.0, NAN, 2.0], requires_grad=True)
    x.median().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    y = weft.tensor([2.0, 1.0, 2.0, 3.0, 2.0], requires_grad=True)
    y.median().backward()
    assert weft.allclose(y.grad, weft.tensor([1.0, 0.0, 1.0, 0.0, 1.0]) / 3)


def test_an_infinite_ctc_loss_has_no_slope():
    for zero, wanted in ((False, NAN), (True, 0.0)):
        x = weft.zeros(3, 2, 2, requires_grad=True)
        lengths = weft.tensor([3, 3])
        targets, of_targets = weft.tensor([[1, 1, 1], [1, 0, 0]]), weft.tensor([3, 1])
        F.ctc_loss(x.log_softmax(2), targets, lengths, of_targets, zero_infinity=zero).backward()
        assert all(map(math.isnan, x.grad[:, 0].flatten().tolist())) if wanted != 0 else not x.grad[:, 0].any()
        assert x.grad[:, 1].isfinite().all() and x.grad[:, 1].any()


def test_frames_beyond_the_length_have_no_slope_in_an_infinite_ctc_loss():
    x = weft.zeros(3, 2, 4, requires_grad=True)
    loss = F.ctc_loss(x, weft.tensor([[1, 2], [1, 2]]), weft.tensor([0, 1]), weft.tensor([1, 2]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [math.inf, math.inf]
    assert not x.grad[:, 0].any() and x.grad[0, 1].isnan().all() and not x.grad[1:, 1].any()


def test_gradients_of_resized_halves_are_added_up_in_float32():
    g = weft.tensor([1.0] + [1 / 256] * 3).view(1, 1, 2, 2)
    for mode in ("nearest", "nearest-exact"):
        x = weft.ones(1, 1, 1, 1, dtype=weft.bfloat16, requires_grad=True)
        F.interpolate(x, scale_factor=2, mode=mode).backward(g.bfloat16())
        assert x.grad.item() == weft.tensor(1 + 3 / 256).bfloat16().item() != 1


def test_unique_has_no_derivative():
    x = weft.ones(3, requires_grad=True)
    with pytest.raises(NotImplementedError, match="the derivative for '_unique2' is not implemented"):
        x.unique().sum().backward()
    with pytest.raises(NotImplementedError, match="the derivative for 'unique_dim' is not implemented"):
        x.unique(dim=0).sum().backward()


def test_matrix_norms_of_nothing_are_zero():
    for order in (1, 2, INF, "fro", "nuc"):
        assert weft.linalg.matrix_norm(weft.ones(0, 0), order) == 0
        assert weft.linalg.matrix_norm(weft.ones(0, 3), order) == 0
    for order in (-1, -2, -INF):
        with pytest.raises(IndexError):
            weft.linalg.matrix_norm(weft.ones(0, 0), order)


def test_truth_values_times_alpha_are_truth_values():
    b = weft.tensor([True, False])
    for alpha in (2, True, 1):
        made = weft.add(b, b, alpha=alpha)
        assert made.dtype is weft.bool and made.tolist() == [True, False]
    assert weft.add(b, b, alpha=0).tolist() == [True, False]
    assert weft.tensor([False, True]).add_(b, alpha=2).tolist() == [True, True]


def test_a_format_asked_for_gives_its_strides():
    channels_last = weft.channels_last
    assert weft.ones(8, 1, 3, 3).to(memory_format=channels_last).stride() == (9, 1, 3, 1)
    assert weft.ones(8, 3, 1, 1).to(memory_format=channels_last).stride() == (3, 1, 3, 3)
    x = weft.ones(2, 3, 4, 5).to(memory_format=channels_last)
    assert x.stride() == (60, 1, 15, 3) and x.to(memory_format=channels_last) is x
    assert weft.ones(8, 1, 3, 3).contiguous(memory_format=channels_last).stride() == (9, 9, 3, 1)


def test_convolutions_of_no_channels():
    assert F.conv2d(weft.zeros(2, 0, 5, 5), weft.ones(3, 0, 2, 2), weft.ones(3)).shape == (2, 0, 4, 4)
    assert F.conv1d(weft.zeros(2, 0, 5), weft.ones(3, 0, 2)).shape == (2, 0, 4)
    with pytest.raises(RuntimeError, match="at least 1 at dimension 0"):
        F.conv2d(weft.zeros(2, 2, 5, 5), weft.ones(0, 2, 2, 2))


def test_the_reciprocal_of_complex_zero_is_infinite():
    found = weft.tensor([0j, 2 + 0j]).reciprocal()
    assert found[0].real == INF and found[0].imag.isnan() and found[1] == 0.5


def test_one_hot_of_classes_in_range():
    assert F.one_hot(weft.tensor([[2, 0], [1, 1]])).tolist() == [[[0, 0, 1], [1, 0, 0]], [[0, 1, 0], [0, 1, 0]]]
    assert F.one_hot(weft.tensor([], dtype=weft.int64), 4).shape == (0, 4)
    for values, classes in (([-1], -1), ([3], 3)):
        with pytest.raises(RuntimeError, match="Class values must be"):
            F.one_hot(weft.tensor(values), classes)


def test_repeats_by_counts():
    counts = weft.tensor([2, 0, 3])
    assert weft.repeat_interleave(counts).tolist() == [0, 0, 2, 2, 2]
    assert weft.repeat_interleave(counts[:0]).tolist() == []
    x = weft.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    made = x.repeat_interleave(counts.int(), 1)
    made.sum().backward()
    assert made.tolist() == [[1, 1, 3, 3, 3]] and x.grad.tolist() == [[2, 0, 3]]
    with pytest.raises(RuntimeError, match="negative"):
        weft.repeat_interleave(weft.tensor([1, -1]))


@pytest.mark.parametrize("sizes, outs", [((2, 3, 7, 8), (3, 5)), ((2, 3, 5), 2), ((1, 2, 4, 5, 6), (3, 2, 4)), ((2, 4, 4), (5, 3))])
def test_means_of_unequal_parts(sizes, outs):
    n = len(sizes) - 2 if isinstance(outs, int) else len(outs)
    pool = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}[n]
    x = weft.randn(sizes, dtype=weft.float64, requires_grad=True)
    wanted = x.detach()
    for d, out in enumerate([outs] * n if isinstance(outs, int) else outs, len(sizes) - n):
        size = sizes[d]
        parts = [wanted.narrow(d, i * size // out, -(-(i + 1) * size // out) - i * size // out).mean(d, True) for i in range(out)]
        wanted = weft.cat(parts, d)
    assert weft.allclose(pool(x, outs), wanted)
    assert weft.autograd.gradcheck(lambda x: pool(x, outs), x) and weft.autograd.gradgradcheck(lambda x: pool(x, outs), x)
    compiled = weft.compile(lambda x: pool(x, outs), fullgraph=True)
    assert weft.allclose(compiled(x), wanted)


def test_quotients_rounded_towards_zero_have_no_slope():
    x = weft.tensor([1.0, math.nan, math.inf, 2.0], requires_grad=True)
    y = weft.tensor([0.0, 1.0, 2.0, math.nan], requires_grad=True)
    cut = lambda x, y: weft.div(x, y, rounding_mode="trunc")
    for f in (cut, weft.compile(cut, fullgraph=True)):
        for g in weft.autograd.grad(f(x, y).sum(), (x, y)):
            assert g.tolist() == [0, 0, 0, 0]


def test_what_is_cut_is_the_quotient_alone():
    x, y = weft.tensor([7.0, -7.0, math.inf]), weft.tensor([2.0, 2.0, 2.0])
    for other in (y, 2, 2.0, weft.tensor(2.0)):
        found = weft.div(x, other, rounding_mode="trunc")
        assert found.tolist() == [3, -3, math.inf] and found.dtype is weft.float32
    assert x.tolist() == [7, -7, math.inf] and y.tolist() == [2, 2, 2] and x._version == y._version == 0
    batched = weft.func.vmap(lambda x: weft.div(x, 2.0, rounding_mode="trunc"))(x.reshape(3, 1))
    assert batched.tolist() == [[3], [-3], [math.inf]]


def test_a_negative_norm_of_nan_and_0_is_nan():
    norm = lambda x: weft.linalg.vector_norm(x, -1, 1)
    x = weft.tensor([[0.0, math.nan, 1.0], [0.0, 2.0, 1.0]])
    for f in (norm, weft.compile(norm, fullgraph=True)):
        assert str(f(x).tolist()) == "[nan, 0.0]"


def test_nothing_joined_along_any_dim_is_nothing():
    for dim in (0, 1, -3):
        assert weft.cat([weft.zeros(0), weft.zeros(0)], dim).shape == (0,)
    with pytest.raises(IndexError, match="Dimension out of range"):
        weft.cat([weft.zeros(1)], 1)


def test_transforms_of_no_points_are_refused_whatever_the_norm():
    for norm in ("ortho", "forward", "backward"):
        with pytest.raises(RuntimeError, match=r"Invalid number of data points \(0\)"):
            weft.fft.fft2(weft.zeros(3, 0), norm=norm)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16], ids=str)
def test_quotients_of_halves_are_cut_before_they_are_rounded(dtype):
    """2.9997 is 2, though a half next to it is 3."""
    x, y = weft.tensor([0.8999, -0.8999], dtype=dtype), weft.tensor([0.3, 0.3], dtype=dtype)
    expected = (x.double() / y.double()).trunc().tolist()
    cut = lambda x, y: weft.div(x, y, rounding_mode="trunc")
    for f in (cut, weft.compile(cut, fullgraph=True)):
        assert f(x, y).dtype is dtype and f(x, y).tolist() == expected
        assert f(x, 0.3).tolist() == (x.float() / 0.3).trunc().tolist()
        assert f(x.clone().requires_grad_(), y).dtype is dtype


@pytest.mark.parametrize("op", [weft.angle, lambda x: weft.div(x, 0.3, rounding_mode="trunc")])
def test_results_without_slope_lie_as_their_argument(op):
    x = weft.ones(2, 3, 4, 5).to(memory_format=weft.channels_last).requires_grad_()
    for f in (op, weft.compile(op, fullgraph=True)):
        assert f(x).stride() == x.stride() and f(x).requires_grad
