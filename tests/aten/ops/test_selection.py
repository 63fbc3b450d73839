"""What masks select, counts in intervals, draws by probabilities, equality: native kernels and rules against NumPy, over dtypes."""

import numpy as np
import pytest

import weft

_DTYPES = [np.float32, np.float64, np.int64, np.uint8, np.complex128, np.float16, bool]


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", [0, 1, 7, 5000])
def test_masks(n, dtype):
    rng = np.random.default_rng(n)
    x, source = ((rng.standard_normal(s) * 5).astype(dtype) for s in ((n, 3), n * 3 + 2))
    mask = rng.random((n, 3)) < 0.4
    wanted = x.copy()
    wanted[mask] = source[: mask.sum()]
    spread = weft.from_numpy(np.repeat(x, 2, 1))[:, ::2]
    for t in (weft.from_numpy(x), spread):
        for m in (weft.from_numpy(mask), weft.from_numpy(np.ascontiguousarray(mask.T)).T):
            assert weft.masked_select(t, m).numpy().tolist() == x[mask].tolist()
            assert weft.masked_scatter(t, m, weft.from_numpy(source)).numpy().tolist() == wanted.tolist()


def test_a_mask_that_holds_more_often_than_there_are_elements():
    with pytest.raises(RuntimeError, match="at least as many elements as the mask has true ones"):
        weft.masked_scatter(weft.zeros(3), weft.ones(3, dtype=weft.bool), weft.zeros(2))
    bytes_for_true = weft.tensor([0, 2, 255], dtype=weft.uint8).view(weft.bool)
    assert weft.masked_select(weft.arange(3), bytes_for_true).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", _DTYPES)
def test_equal(dtype):
    x = (np.random.default_rng(0).standard_normal((90, 91)) * 5).astype(dtype)
    t, other = weft.from_numpy(x), x.copy()
    other[-1, -1] = not other[-1, -1] if dtype is bool else other[-1, -1] + 1
    assert weft.equal(t, t.clone()) and weft.equal(t.T, t.T.contiguous())
    assert not weft.equal(t, weft.from_numpy(other)) and not weft.equal(t, t[:-1])


def test_equal_of_zeros_and_nan():
    assert weft.equal(weft.tensor([0.0]), weft.tensor([-0.0])) and not weft.equal(weft.tensor([weft.nan]), weft.tensor([weft.nan]))


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_histc(dtype):
    x = weft.tensor([0.0, 0.25, 0.9, 1.0, 1.1, -0.1, weft.nan], dtype=dtype)
    assert weft.histc(x, 4, 0, 1).tolist() == [1, 1, 0, 2]
    assert weft.histc(x[:4], 2).tolist() == [2, 2]
    assert weft.histc(weft.ones(3, dtype=dtype), 4).tolist() == [0, 0, 3, 0]
    assert weft.histc(x[::3], 2, 0, 1).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="is not finite"):
        weft.histc(weft.tensor([1.0, weft.inf], dtype=dtype))


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_bernoulli_is_a_uniform_number_below_the_chance(dtype):
    chance = weft.rand(1001, dtype=dtype)
    weft.manual_seed(3)
    drawn, after = weft.bernoulli(chance), weft.rand(4)
    weft.manual_seed(3)
    assert weft.equal(drawn, (weft.rand(1001, dtype=dtype) < chance).to(dtype)) and weft.equal(after, weft.rand(4))
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        weft.bernoulli(weft.tensor([0.5, 2.0], dtype=dtype))


def test_draws_have_no_slope():
    mean, std = (weft.rand(3, requires_grad=True) for _ in range(2))
    (weft.normal(mean, std) + weft.bernoulli(mean)).sum().backward()
    assert mean.grad.tolist() == std.grad.tolist() == [0, 0, 0]


def test_bernoulli_in_place_does_not_ask_what_the_tensor_held():
    weft.manual_seed(0)
    for x in (weft.zeros(1000), weft.ones(1000), weft.full((1000,), 7, dtype=weft.int64)):
        assert 400 < x.bernoulli_().sum() < 600
    assert 400 < weft.compile(lambda x: x.bernoulli_())(weft.ones(1000)).sum() < 600
    with pytest.raises(RuntimeError, match=r"bernoulli_ expects p to be in \[0, 1\], but got p=2"):
        weft.ones(3).bernoulli_(2)


def test_what_a_mask_replaces_is_recorded_whole():
    rng = np.random.default_rng(0)
    x, source = (weft.from_numpy(rng.standard_normal(s)).requires_grad_() for s in ((3, 4), (3, 5)))
    mask = weft.from_numpy(rng.random((3, 4)) < 0.5)
    out = weft.masked_scatter(x, mask, source)
    assert out.grad_fn.name() == "MaskedScatterBackward0"
    of_x, of_source = weft.autograd.grad(out, (x, source), weft.arange(12.0, dtype=weft.float64).reshape(3, 4), retain_graph=True)
    at = np.arange(12.0).reshape(3, 4)
    assert of_x.numpy().tolist() == np.where(mask.numpy(), 0, at).tolist()
    chosen = at[mask.numpy()]
    assert of_source.reshape(-1).tolist() == [*chosen, *[0.0] * (15 - len(chosen))]
    f = lambda a, b: weft.masked_scatter(a, mask, b) ** 2
    assert weft.autograd.gradcheck(f, (x, source)) and weft.autograd.gradgradcheck(f, (x, source))
    g = weft.from_numpy(rng.standard_normal((2, 3, 4)))
    mapped = weft.autograd.grad(out, (x, source), g, is_grads_batched=True, retain_graph=True)
    for k in range(2):
        one = weft.autograd.grad(out, (x, source), g[k], retain_graph=True)
        assert all(a[k].tolist() == b.tolist() for a, b in zip(mapped, one))


def test_draws_with_history_are_one_node_without_slope():
    x = weft.full([5], 0.5).requires_grad_()
    weft.manual_seed(3)
    out = weft.bernoulli(x)
    weft.manual_seed(3)
    assert out.grad_fn.name() == "BernoulliBackward0" and weft.bernoulli(x.detach()).tolist() == out.tolist()
    assert weft.autograd.grad(out.sum(), x)[0].tolist() == [0.0] * 5
