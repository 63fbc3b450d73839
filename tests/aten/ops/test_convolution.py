"""The core convolution: its kernels against its decomposition, and its derivatives against those of the decomposition."""

import numpy as np
import pytest

import weft
from aten.op import ops, registry

F = weft.nn.functional


def random_call(seed: int):
    """A convolution or a transposed one with random sizes, groups and parameters, and its tensors; None where nothing is left."""
    rng = np.random.default_rng(seed)

    def draw(low: int, high: int, n: int) -> list[int]:
        return [int(v) for v in rng.integers(low, high, n)]

    n, transposed, groups = 1 + seed % 3, seed % 2 == 1, int(rng.choice([1, 1, 2, 4]))
    channels, results = groups * int(rng.integers(1, 4)), groups * int(rng.integers(1, 4))
    kernel, stride, dilation = draw(1, 4, n), draw(1, 4, n), draw(1, 3, n)
    x = rng.standard_normal((int(rng.integers(1, 3)), channels, *draw(6, 12, n)))
    weight = rng.standard_normal((channels, results // groups, *kernel) if transposed else (results, channels // groups, *kernel))
    given = {"stride": stride, "padding": draw(0, 2, n), "dilation": dilation, "groups": groups}
    if transposed:
        given["output_padding"] = [int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation)]
    function = getattr(F, f"conv{'_transpose' * transposed}{n}d")
    return function, [weft.from_numpy(a) for a in (x, weight, rng.standard_normal(results))], given


def results_of(function, tensors, given):
    """Results, gradients, and gradients of the gradients."""
    leaves = [t.clone().requires_grad_() for t in tensors]
    y = function(*leaves, **given)
    weights = weft.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)
    first = weft.autograd.grad((y * y * weights).sum(), leaves, create_graph=True)
    second = weft.autograd.grad(sum((g * g).sum() for g in first), leaves, allow_unused=True)
    return [y, *first, *(s for s in second if s is not None)]


@pytest.mark.parametrize("seed", range(36))
def test_kernel_is_decomposition(seed, monkeypatch):
    call = random_call(seed)
    by_kernel = results_of(*call)
    for name in ("convolution", "convolution_weight"):
        monkeypatch.setitem(registry, name, registry[name].decompose_fn)
    for got, expected in zip(by_kernel, results_of(*call), strict=True):
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-8, atol=1e-8)


def as_doubles(t):
    return (t.real if t.is_complex() else t).to(weft.float64)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "complex128"])
def test_other_dtypes(dtype):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, sizes).astype(np.float64) for sizes in ((2, 4, 7, 6), (6, 2, 3, 2))]
    x, weight = (weft.from_numpy(a).to(getattr(weft, dtype)) for a in arrays)
    got = F.conv2d(x, weight, stride=2, padding=1, groups=2)
    expected = F.conv2d(as_doubles(x), as_doubles(weight), stride=2, padding=1, groups=2)
    assert got.dtype is x.dtype
    assert weft.equal(as_doubles(got), expected)


@pytest.mark.parametrize("n, channels, made", [(0, 3, 4), (2, 0, 0)])  # (of no channels PyTorch makes none)
def test_empty(n, channels, made):
    y = F.conv2d(weft.zeros(n, channels, 8, 8), weft.ones(4, channels, 3, 3), weft.arange(4.0))
    assert y.shape == (n, made, 6, 6)


def test_only_inputs_are_kept():
    x, w = weft.randn(2, 8, 16, 16).requires_grad_(), weft.randn(8, 8, 3, 3).requires_grad_()
    y = F.conv2d(x, w, padding=1)
    kept = [t for t in y.grad_fn.saved if isinstance(t, weft.Tensor)]
    assert sum(t.numel() for t in kept) <= x.numel() + w.numel()


def test_memory_is_checked():
    """The native kernel refuses what does not fit: nothing is read or written beyond a tensor."""
    x, w, out = weft.zeros(1, 1, 4), weft.zeros(1, 1, 3), weft.zeros(1, 1, 2)
    run = ops.convolution.native_fn
    one = [1]
    assert run(out, x, w, None, [2], one, [0], one, one, 1) is None
    for stride, before, groups in (([0], [0], 1), (one, [2**62], 1), (one, [0], 2), ([1, 1], [0], 1)):
        assert run(out, x, w, None, [2], stride, before, one, one, groups) is NotImplemented
    assert run(out, x.double(), w, None, [2], one, [0], one, one, 1) is NotImplemented
    assert ops.convolution(x, w, None, [2], [1], [0], [1], [1], 1).shape == (1, 1, 2)


def test_a_wider_bias_of_a_transposed_convolution_does_not_widen_the_result():
    args = weft.ones(1, 1, 2), weft.ones(1, 1, 1), weft.full((1,), 0.5, dtype=weft.float64)
    for f in (F.conv_transpose1d, weft.compile(F.conv_transpose1d, fullgraph=True)):
        out = f(*args)
        assert out.dtype is weft.float32 and out.tolist() == [[[1.5, 1.5]]]


@pytest.mark.parametrize(  # (PyTorch has transposed ones of no other integers)
    "dtype,transposed", [(d, False) for d in ("uint8", "int8", "int16", "int32", "int64")] + [("int64", True)]
)
@pytest.mark.parametrize("high", [9, 100, 2**40])
def test_integers_wrap_whether_float64_holds_their_sums_or_not(dtype, high, transposed):
    """As sums of the products of their parts of 20 bits, which it holds."""
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.integers(0, high, sizes).astype(dtype) for sizes in ((2, 4, 7, 6), (4, 2, 3, 2), (4,)))
    function, given = (F.conv_transpose2d if transposed else F.conv2d), {"stride": 2, "padding": 1, "groups": 2 - transposed}
    if transposed:
        bias = bias[:2]
    got = function(*(weft.from_numpy(a) for a in (x, weight, bias)), **given).numpy()

    parts = [[a.astype(np.int64) & 0xFFFFF, a.astype(np.int64) >> 20] for a in (x, weight)]
    total = np.broadcast_to(bias.astype(np.int64)[:, None, None], got.shape).copy()
    for i, j in np.ndindex(2, 2):
        total += function(weft.from_numpy(parts[0][i]), weft.from_numpy(parts[1][j]), **given).numpy() << 20 * (i + j)
    np.testing.assert_array_equal(got, total.astype(dtype))
