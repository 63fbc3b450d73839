"""What is in order, what is counted and what is convolved, on a device: as on the CPU, eager and compiled, and not by way of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import weft
from tests.cuda.compiled.test_eager import equal, floats
from tests.cuda.compiled.test_functions import on_both

F = weft.nn.functional
CASES = {
    "float32": lambda: weft.tensor([3.0, float("nan"), -0.0, 0.0, -float("inf"), 2.5, 3.0, float("inf"), -1.0, float("nan")]),
    "float64": lambda: weft.tensor([3.0, float("nan"), -0.0, 0.0, -1e300, 3.0000000000000004, 3.0], dtype=weft.float64),
    "bfloat16": lambda: weft.tensor([3.0, 1.0, 1.0, -2.0, 0.5], dtype=weft.bfloat16),
    "int64": lambda: weft.tensor([5, -(2**63), 2**63 - 1, 5, -7, 2**32 + 5, 5 - 2**32, 0]),
    "int8": lambda: weft.tensor([5, -128, 127, 5, 0], dtype=weft.int8),
    "uint8": lambda: weft.tensor([5, 255, 0, 5, 128], dtype=weft.uint8),
    "bool": lambda: weft.tensor([True, False, True, False]),
}


@pytest.fixture(autouse=True)
def nothing_by_the_host():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def same(got, want):
    """Every tensor of `got` is on the device and equal to that of `want`, the signs of zeros included."""
    for g, w in zip(got, want, strict=True):
        assert g.device.type == "cuda" and g.shape == w.shape and g.dtype is w.dtype and g.stride() == w.stride()
        g, w = (t.cpu().float() if t.dtype is weft.bfloat16 else t.cpu() for t in (g, w))
        np.testing.assert_array_equal(g.numpy(), w.numpy())
        if w.dtype.is_floating_point:
            np.testing.assert_array_equal(np.signbit(g.numpy()), np.signbit(w.numpy()))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("descending", [False, True])
def test_sorted_as_on_the_cpu(device, name, descending):
    x = CASES[name]()
    same(weft.sort(x.to(device), descending=descending), weft.sort(x, descending=descending))


@pytest.mark.parametrize("shape, dim", [((3, 5), 0), ((2, 3, 4), 1), ((4, 1), 1), ((1, 7), 0), ((0, 3), 1), ((2, 0), 1), ((), 0)])
def test_sorted_along_any_dim(device, shape, dim):
    x = floats(*shape) if shape else weft.tensor(3.0)
    same(weft.sort(x.to(device), dim), weft.sort(x, dim))
    same(weft.sort(x.t().to(device) if x.ndim == 2 else x.to(device), -1), weft.sort(x.t() if x.ndim == 2 else x, -1))


@pytest.fixture
def short(monkeypatch):
    """Programs sort 4 elements, so that rows of few are long ones."""
    from inductor.cuda import eager
    from inductor.lowering import sorting

    monkeypatch.setattr(sorting, "RUN", 4)
    eager._programs.clear()
    yield
    eager._programs.clear()


@pytest.mark.parametrize("n", [5, 8, 13, 16, 23])
def test_rows_longer_than_a_program_sorts(device, short, n):
    with uncached():
        x = weft.from_numpy(np.random.default_rng(n).integers(0, 9, (2, n)).astype("f4"))
        same(weft.sort(x.to(device), 1), weft.sort(x, 1))
        same(weft.sort(x.to(device), 1, descending=True), weft.sort(x, 1, descending=True))
        same(weft.topk(x.to(device), 2, 1), weft.topk(x, 2, 1))
        same(weft.topk(x.long().to(device), 4, 1, largest=False), weft.topk(x.long(), 4, 1, largest=False))


def uncached():
    from aten import settings

    return settings.patch(cache=False)


OPS = {
    "topk": lambda x: weft.topk(x, 3, -1),
    "smallest": lambda x: weft.topk(x, 2, 0, largest=False),
    "argsort": lambda x: (x.argsort(1),),
    "kthvalue": lambda x: weft.kthvalue(x, 2, 1),
    "median": lambda x: x.median(1),
    "mode": lambda x: x.round().mode(1),
    "quantile": lambda x: (x.quantile(weft.tensor([0.25, 0.5], device=x.device), 1),),
    "cummax": lambda x: weft.cummax(x, 1),
    "cummin": lambda x: weft.cummin(x.t(), 0),
    "cummax of truth values": lambda x: weft.cummax(x > 0, 0),
    "cummax of integers": lambda x: weft.cummax(x.mul(3).long(), 1),
    "search": lambda x: (weft.searchsorted(x.sort(1).values, x.flip(0)),),
    "search to the right": lambda x: (weft.searchsorted(x[0].sort().values, x[0] + 0, right=True, out_int32=True),),
    "buckets": lambda x: (weft.bucketize(x, weft.tensor([-1.0, 0.0, 0.5], device=x.device)),),
    "nonzero": lambda x: (weft.nonzero(x > 0),),
    "nonzero of dims": lambda x: weft.nonzero(x.reshape(2, 2, -1) > 0, as_tuple=True),
    "nothing found": lambda x: (weft.nonzero(x > 99), x[x > 99]),
    "of no dims": lambda x: (weft.nonzero(x[0, 0] > -99),),
    "chosen": lambda x: (x[x > 0], weft.masked_select(x, x[:, :1] > 0)),
    "unique": lambda x: x.round().unique(return_inverse=True, return_counts=True),
    "consecutive": lambda x: x.round().unique_consecutive(return_counts=True),
    "counted": lambda x: (weft.bincount(x.abs().long().reshape(-1)), weft.bincount(x.abs().long().reshape(-1), x.reshape(-1), 9)),
    "product of integers": lambda x: ((x * 3).long() @ (x * 2).long().t(),),
    "put by a mask": lambda x: (x.masked_scatter(x > 0, x.flip(1)),),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_in_order(device, name):
    x = floats(4, 10)
    got, want = OPS[name](x.to(device)), OPS[name](x)
    for g, w in zip(got, want, strict=True):
        equal(g, w, 1e-6)


def test_what_is_not_a_number_is_behind_all_others(device):
    row, x = weft.tensor([1.0, 2.0, float("nan")]), weft.tensor([0.0, 1.0, 3.0, float("nan")])
    for right in (False, True):
        want = weft.searchsorted(row, x, right=right)
        assert weft.searchsorted(row.to(device), x.to(device), right=right).tolist() == want.tolist()
    x = weft.tensor([1.0, float("nan"), 3.0, 2.0])
    same(weft.cummax(x.to(device), 0), weft.cummax(x, 0))
    same(weft.sort(x.to(device)), weft.sort(x))


GRADIENTS = {
    "sort": lambda x: x.sort(1).values * weft.arange(10.0, device=x.device),
    "topk": lambda x: x.topk(3, 1).values,
    "cummax": lambda x: x.cummax(1).values,
    "cumprod": lambda x: x.cumprod(0),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "median": lambda x: x.median(1).values,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_what_is_in_order(device, name):
    f, x = GRADIENTS[name], floats(4, 10)
    on_both(f, x.requires_grad_(), device=device)
    a, b = x.detach().to(device).requires_grad_(), x.detach().requires_grad_()
    f(a).sum().backward(), f(b).sum().backward()
    equal(a.grad, b.grad, 1e-5)


def test_long_rows_run_in_blocks(device):
    x = weft.from_numpy(np.random.default_rng(0).normal(size=(2, 4500)).astype("f4"))
    same(weft.cummax(x.to(device), 1), weft.cummax(x, 1))
    equal(weft.logcumsumexp(x.to(device), 1), weft.logcumsumexp(x, 1), 1e-4)


def test_running_sums_of_exponentials(device):
    inf = float("inf")
    x = weft.tensor([[-inf, -inf, 1.0, 2.0], [800.0, 801.0, -inf, 3.0], [inf, 1.0, inf, -inf], [1.0, float("nan"), 2.0, 3.0]])
    equal(weft.logcumsumexp(x.to(device), 1), weft.logcumsumexp(x, 1))


CONVOLUTIONS = {
    "plain": dict(),
    "padded, strided": dict(padding=1, stride=2),
    "dilated": dict(padding=(2, 1), dilation=2),
    "groups": dict(groups=2),
    "depthwise": dict(groups=4),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("compiled", [False, True])
def test_convolutions(device, name, compiled):
    options = CONVOLUTIONS[name]
    x, w, b = floats(2, 4, 6, 7), floats(4, 4 // options.get("groups", 1), 3, 3, seed=1), floats(4, seed=2)
    for a in (x, w, b):
        a.requires_grad_()
    f = lambda x, w, b: F.conv2d(x, w, b, **options)
    if compiled:
        on_both(f, x, w, b, device=device, tolerance=1e-4)
        return
    own = [a.detach().to(device).requires_grad_() for a in (x, w, b)]
    got, want = f(*own), f(x, w, b)
    equal(got, want, 1e-4)
    got.sum().backward(), want.sum().backward()
    for mine, theirs in zip(own, (x, w, b)):
        equal(mine.grad, theirs.grad, 1e-4)


def test_transposed_convolutions_and_other_ranks(device):
    x, w = floats(2, 4, 5), floats(4, 3, 3, seed=1)
    equal(F.conv_transpose1d(x.to(device), w.to(device), stride=2, padding=1), F.conv_transpose1d(x, w, stride=2, padding=1), 1e-4)
    x, w = floats(1, 2, 3, 4, 3), floats(2, 2, 2, 2, 2, seed=1)
    equal(F.conv3d(x.to(device), w.to(device)), F.conv3d(x, w), 1e-4)


def test_large_attention_is_not_the_hosts(device, monkeypatch):
    from inductor import choices

    monkeypatch.setattr(choices, "LARGE_SCORES", 16)
    q, k, v = (floats(1, 2, 9, 4, seed=i) for i in range(3))
    f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)
    equal(f(*(x.to(device) for x in (q, k, v))), f(q, k, v), 1e-5)


def test_bags_and_labels_of_a_device(device):
    weight, i, offsets = floats(6, 3), weft.tensor([1, 0, 3, 5]), weft.tensor([0, 2])
    samples = weft.tensor([1.0, 2.0, 0.5, 3.0])
    for mode in ("sum", "mean"):
        f = lambda i, w, o, mode=mode: F.embedding_bag(i, w, o, mode=mode)
        equal(f(i.to(device), weight.to(device), offsets.to(device)), f(i, weight, offsets))
    f = lambda i, w, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s)
    equal(f(*(x.to(device) for x in (i, weight, offsets, samples))), f(i, weight, offsets, samples))
    logs, labels = floats(5, 2, 4).log_softmax(-1), weft.tensor([[1, 2], [2, 3]])
    lengths = weft.tensor([5, 4]), weft.tensor([2, 1])
    want = F.ctc_loss(logs, labels, *lengths)
    for where in ("cpu", device):  # as they were counted, or moved along
        equal(F.ctc_loss(logs.to(device), labels.to(device), *(n.to(where) for n in lengths)), want, 1e-5)


REDUCED = {
    "float32": lambda: (
        weft.tensor([1.0, float("nan"), -0.0, 4.0, -float("inf"), 2.0]),
        weft.tensor([3.0, 1.5, float("nan"), -2.0, 5.0, 0.25, 7.0]),
    ),
    "bfloat16": lambda: (weft.arange(6).to(weft.bfloat16), weft.tensor([3.0, 1.5, -8.0, -2.0, 5, 0.25, 7], dtype=weft.bfloat16)),
    "int64": lambda: (weft.tensor([5, -(2**63), 2**62, 5, -7, 2]), weft.tensor([3, 2**61, -7, -2, 5, 1, 2])),
    "uint8": lambda: (weft.arange(6).to(weft.uint8), weft.tensor([3, 255, 7, 2, 5, 1, 2], dtype=weft.uint8)),
    "bool": lambda: (weft.tensor([1, 0, 1, 0, 1, 0]) > 0, weft.tensor([1, 0, 0, 1, 0, 1, 1]) > 0),
}  # fmt: skip


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize(
    "dtype, reduce", [(d, r) for d in REDUCED for r in ("sum", "prod", "mean", "amax", "amin") if (d, r) != ("bool", "mean")]
)
def test_what_is_scattered_is_reduced(device, dtype, reduce, include_self):
    index = weft.tensor([1, 0, 4, 1, 4, 4, 2])
    x, src = REDUCED[dtype]()
    f = lambda x, index, src: x.scatter_reduce(0, index, src, reduce, include_self=include_self)
    want = f(x, index, src)
    weft._dynamo.reset()
    for g in (f, weft.compile(f, fullgraph=True)):
        got = g(x.to(device), index.to(device), src.to(device))
        assert got.device.type == "cuda" and got.dtype is want.dtype
        np.testing.assert_allclose(got.cpu().double().numpy(), want.double().numpy(), rtol=1e-6)


@pytest.mark.parametrize("reduce", ["prod", "amax"])
def test_an_index_shorter_than_the_lines_it_goes_into(device, reduce):
    x, src, index = floats(3, 4, 5), floats(2, 6, 5, seed=1), weft.arange(2 * 6 * 4).reshape(2, 6, 4) % 4
    f = lambda x: x.scatter_reduce(1, index.to(x.device), src.to(x.device), reduce)
    equal(f(x.to(device)), f(x))
    with pytest.raises(RuntimeError, match="index 9 is out of bounds for dimension 0 with size 3"):
        weft.zeros(3, device=device).scatter_reduce(0, weft.tensor([9]).to(device), weft.ones(1, device=device), reduce)
        weft.cuda.synchronize()
    assert weft.zeros(3, dtype=weft.int8, device=device).scatter_add(
        0, weft.tensor([1, 1]).to(device), weft.tensor([100, 100], dtype=weft.int8).to(device)
    ).tolist() == [0, -56, 0]  # fmt: skip


def test_rows_of_lengths_near_each_other_are_one_program(device):
    from inductor.cuda import eager

    def programs(name):
        return sum(len(found) for key, found in eager._programs.items() if key[0] == name)

    before = programs("sort"), programs("topk")
    for n in (17, 20, 33, 64):
        x = floats(3, n)
        same(weft.sort(x.to(device), 1), weft.sort(x, 1))
        same(weft.topk(x.to(device), 5, 1), weft.topk(x, 5, 1))
        same(weft.sort(x.double().to(device), 1, descending=True), weft.sort(x.double(), 1, descending=True))
    assert (programs("sort") - before[0], programs("topk") - before[1]) == (2, 1)
    x = floats(3, 70)
    same(weft.sort(x.to(device), 1), weft.sort(x, 1))


@pytest.mark.parametrize("n", [5, 8, 13, 23])
def test_long_rows_whose_length_is_a_symbol(device, short, n):
    with uncached():
        weft._dynamo.reset()
        x = weft.from_numpy(np.random.default_rng(n).integers(0, 9, (2, n)).astype("f4"))
        f = weft.compile(lambda x: (*x.sort(1), *x.topk(2, 1)), dynamic=True, fullgraph=True)
        same(f(x.to(device)), (*x.sort(1), *x.topk(2, 1)))


DRAWN = {
    "histc": lambda x: (weft.histc(x, 7), weft.histc(x, 10, -1, 1), weft.histc(x.double(), 4, 0, 2), weft.histc(x, 5, -3, 3)),
    "unique rows": lambda x: weft.unique((x * 2).long(), dim=0, return_inverse=True, return_counts=True),
    "unique columns": lambda x: weft.unique(x.sign(), dim=1, return_inverse=True, return_counts=True),
    "drawn": lambda x: (weft.multinomial(x.abs(), 2), weft.multinomial(x[0].abs(), 3)),
    "drawn again": lambda x: (weft.multinomial(x.abs(), 40, replacement=True), weft.multinomial(x.abs().bfloat16(), 5, True)),
    "of a scalar": lambda x: (
        x[0, 0].gather(0, weft.zeros((), dtype=weft.int64, device=x.device)),
        x[1, 0].index_select(0, weft.zeros(1, dtype=weft.int64, device=x.device)),
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_counted_and_drawn_as_on_the_cpu(device, name):
    f, x = DRAWN[name], floats(30, 3)
    weft.manual_seed(3)
    want = f(x)
    weft._dynamo.reset()
    for function in (f, weft.compile(f)):
        weft.manual_seed(3)
        same(function(x.to(device)), want)


@pytest.mark.parametrize(
    "f, said",
    [
        (lambda d: weft.multinomial(weft.tensor([1.0, -1.0]).to(d), 1), "either `inf`, `nan` or element < 0"),
        (lambda d: weft.multinomial(weft.zeros(2).to(d), 1, True), "sum of probabilities <= 0"),
        (lambda d: weft.histc(weft.tensor([1.0, float("nan")]).to(d)), "is not finite"),
    ],
)
def test_data_that_are_refused(device, f, said):
    with pytest.raises(RuntimeError, match=said):
        f(device)
