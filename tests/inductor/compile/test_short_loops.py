"""Which form loops over few elements take: windows, short scans, places that all lanes share, pieces that are moved whole."""

import numpy as np
import pytest

import inductor
import weft
from inductor.lowering.graph import GraphLowering

F = weft.nn.functional


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def sources(kernels_made):
    """The texts of all kernels that are made."""
    return lambda: "".join(kernels_made)


@pytest.fixture
def steps(monkeypatch):
    """The ops of compiled graphs that are steps."""
    names, external = [], GraphLowering.external
    monkeypatch.setattr(GraphLowering, "external", lambda self, n, *rest: names.append(n.target.name) or external(self, n, *rest))
    return names


def compiled(f, *args):
    """The kernels that a compiled call makes, and its result."""
    before = inductor.counters["kernels"]
    result = weft.compile(f, fullgraph=True)(*args)
    return inductor.counters["kernels"] - before, result


WINDOWS = [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 2, "stride": 1, "dilation": 2}]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_largest_of_a_window_is_found_by_comparisons_without_a_loop_over_it(sources, n, window, dtype):
    x = weft.randn(2, 3, *(9, 11, 13)[-n:]).to(getattr(weft, dtype))
    x.view(-1)[5] = float("nan")
    f = lambda x: getattr(F, f"max_pool{n}d")(x, return_indices=True, **window)
    kernels, got = compiled(f, x)
    assert kernels == 1 and "long r0" not in sources()
    for a, b in zip(got, f(x)):
        np.testing.assert_array_equal(a.float().numpy(), b.float().numpy())


@pytest.mark.parametrize("window", WINDOWS)
def test_gradients_go_where_the_largest_of_a_window_stood(steps, window):
    x = weft.randn(2, 3, 9, 11, requires_grad=True)
    f = lambda x: F.max_pool2d(x, **window)
    kernels, out = compiled(f, x)
    (got,) = weft.autograd.grad((out * out).sum(), x)
    assert kernels == 1 and steps == ["window_maxima_backward"]
    (expected,) = weft.autograd.grad((f(x) * f(x)).sum(), x)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("window", [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_means_are_not_spread_over_windows(steps, n, window):
    x = weft.randn(2, 3, *(9, 11, 13)[-n:], requires_grad=True)
    f = lambda x: getattr(F, f"avg_pool{n}d")(x, **window)
    out = weft.compile(f, fullgraph=True)(x)
    (got,) = weft.autograd.grad((out * out).sum(), x)
    assert steps == ["window_sums_backward"]
    (expected,) = weft.autograd.grad((f(x) * f(x)).sum(), x)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_biases_by_distance_are_computed_in_32_bits(sources):
    def attention(q, k, v):
        i = weft.arange(q.shape[-2])
        return (q @ k.transpose(-1, -2) - (i[:, None] - i[None, :]).abs() * 0.1).softmax(-1) @ v

    q, k, v = (weft.randn(2, 48, 16) for _ in range(3))
    _, got = compiled(attention, q, k, v)
    assert "w_vec<long" not in sources()
    np.testing.assert_allclose(got.numpy(), attention(q, k, v).numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_of_depthwise_weights_in_halves_are_the_kernel(steps):
    x, w = (weft.randn(*sizes).to(weft.bfloat16).requires_grad_() for sizes in ((2, 8, 12, 12), (8, 1, 3, 3)))
    f = lambda x, w: F.conv2d(x, w, padding=1, groups=8)
    found, expected = (weft.autograd.grad(g(x, w).float().sum(), (x, w)) for g in (weft.compile(f, fullgraph=True), f))
    assert steps == ["convolution_weight"]
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a.float().numpy(), b.float().numpy(), rtol=2e-2, atol=1e-1)


@pytest.mark.parametrize("stride, expected", [(1, []), (2, ["image_of_columns"])])
def test_columns_that_stand_apart_are_added_by_the_kernel(steps, stride, expected):
    x = weft.randn(2, 12, 49 if stride == 1 else 16)
    f = lambda x: F.fold(x.relu(), (8, 8), 2, stride=stride) * 2
    _, got = compiled(f, x)
    assert steps == expected
    np.testing.assert_allclose(got.numpy(), f(x).numpy(), rtol=1e-5, atol=1e-6)


def test_places_in_long_windows_are_divided_once_a_row(sources):
    x = weft.randn(4, 60, 60)
    f = lambda x: F.adaptive_max_pool2d(x, (None, 3), True)
    _, got = compiled(f, x)
    assert all(weft.equal(a, b) for a, b in zip(got, f(x)))
    divisions = [line for line in sources().splitlines() if "w_floordiv(" in line or "w_remainder(" in line]
    assert divisions and all("w_one(" in line for line in divisions)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
def test_scans_of_short_rows_run_a_lane_a_row(sources, dtype):
    x = weft.randint(-4, 5, (100, 5)).to(getattr(weft, dtype))
    f = lambda x: x.cumsum(1) * 2
    kernels, got = compiled(f, x)
    text = sources()
    assert kernels == 1 and "w_transpose<L, L>" in text and "w_scan" not in text and "w_gather" not in text
    assert got.tolist() == f(x).tolist()


def test_longer_scans_go_from_lane_to_lane(sources):
    x = weft.randint(-4, 5, (100, 16)).float()
    _, got = compiled(lambda x: x.cumsum(1), x)
    assert "w_scan" in sources() and weft.equal(got, x.cumsum(1))


@pytest.mark.parametrize("dim, sizes", [(0, (600, 40)), (1, (3, 9000)), (None, (70, 300))])
def test_a_product_has_no_parts(sources, dim, sizes):
    """Each part would come to 0 by way of denormal numbers."""
    x = weft.rand(*sizes) * 0.02 + 0.99
    f = lambda x: x.prod() if dim is None else x.prod(dim)
    _, got = compiled(f, x)
    assert "chunk" not in sources()
    np.testing.assert_allclose(got.numpy(), f(x).numpy(), rtol=1e-3)


def test_matrices_of_short_rows_are_stored_row_by_row(sources):
    x = weft.randn(500, 5)
    f = lambda x: weft.diag_embed(x, offset=2) * 2  # (a diagonal of a result is written by itself)
    _, got = compiled(f, x)
    assert "w_scatter" not in sources() and weft.equal(got, f(x))


@pytest.mark.parametrize("mode", ["replicate", "reflect", "circular"])
@pytest.mark.parametrize("amounts", [(3, -2), (-2, 3), (-5, 2)])
def test_what_a_negative_padding_leaves_is_moved_in_pieces(mode, amounts):
    x = weft.randn(2, 5, 7)
    f = lambda x: F.pad(x, amounts, mode) * 2
    kernels, got = compiled(f, x)
    assert kernels == 1 and weft.equal(got, f(x))


def test_elements_along_the_last_dim_are_selected_by_the_op(steps):
    x, i = weft.randn(30, 40), weft.randint(0, 40, (50,))
    f = lambda x, i: x.index_select(1, i)
    _, got = compiled(f, x, i)
    assert steps == ["index_select"] and weft.equal(got, f(x, i))
    others = (
        lambda x, i: x.index_select(1, i) + 1,
        lambda x, i: (x + 1).index_select(1, i),
        lambda x, i: x.index_select(0, i % 30),
    )
    for g in others:
        _, got = compiled(g, x, i)
        assert len(steps) == 1 and weft.equal(got, g(x, i))


def test_elements_are_added_along_the_last_dim_by_the_op(steps):
    x, i, source = weft.randn(30, 40), weft.randint(0, 40, (50,)), weft.randn(30, 50)
    f = lambda x, i, source: x.index_add(1, i, source)
    _, got = compiled(f, x, i, source)
    assert steps == ["index_add"] and weft.equal(got, f(x, i, source))
    others = (
        lambda x, i, source: x.index_add(1, i, source) + 1,
        lambda x, i, source: x.index_add(1, i, source + 1),
        lambda x, i, source: x.index_add(0, i[:30] % 30, source[:, :40]),
    )
    for g in others:
        _, got = compiled(g, x, i, source)
        assert len(steps) == 1 and weft.equal(got, g(x, i, source))


def test_triangles_of_long_rows_are_the_op():
    f = lambda x: x.tril(1)
    for side, expected in ((100, 0), (20, 1)):
        x = weft.randn(3, side, side)
        kernels, got = compiled(f, x)
        assert kernels == expected and weft.equal(got, f(x))
        weft.compiler.reset()


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
def test_softmax_along_any_dim_is_one_kernel(f, dim):
    x = weft.randn(20, 30, 40)
    kernels, got = compiled(lambda x: f(x, dim) * 2, x)
    assert kernels == 1
    np.testing.assert_allclose(got.numpy(), (f(x, dim) * 2).numpy(), rtol=1e-4, atol=1e-6)


def test_a_norm_over_channels_is_one_kernel():
    def norm(x, w):
        c = x - x.mean(1, keepdim=True)
        return c / (c.square().mean(1, keepdim=True) + 1e-5).sqrt() * w[:, None, None]

    x, w = weft.randn(3, 24, 6, 7), weft.randn(24)
    kernels, got = compiled(norm, x, w)
    assert kernels == 1
    np.testing.assert_allclose(got.numpy(), norm(x, w).numpy(), rtol=1e-4, atol=1e-5)
