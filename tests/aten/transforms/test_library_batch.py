"""vmap of ops that libraries run: by rules, without a loop, with the values that each element has alone."""

import warnings

import pytest

import weft
from weft.func import grad, vmap

A = weft.randn(3, 4, 4, dtype=weft.float64, generator=weft.Generator().manual_seed(1))
P = A @ A.mT + weft.eye(4, dtype=weft.float64)
B = weft.randn(3, 4, 2, dtype=weft.float64, generator=weft.Generator().manual_seed(2))
L, F = weft.linalg, weft.fft
ONE = {
    "inv": (L.inv, A), "cholesky": (L.cholesky, P), "qr": (L.qr, A), "eigvalsh": (L.eigvalsh, P), "svdvals": (L.svdvals, A),
    "det": (L.det, A), "slogdet": (L.slogdet, A), "logdet": (weft.logdet, P), "lu": (L.lu, A), "matrix_exp": (L.matrix_exp, A),
    "pinv": (L.pinv, A), "cholesky_inverse": (weft.cholesky_inverse, P), "nuclear norm": (lambda a: L.norm(a, "nuc"), A),
    "ldl": (L.ldl_factor, P), "eig": (lambda a: L.eigvals(a).abs().sort()[0], A), "geqrf": (weft.geqrf, A),
    "fft": (F.fft, A), "rfft2": (F.rfft2, A), "irfft": (F.irfft, A + 0j), "fftn": (F.fftn, A),
    "topk": (lambda a: a.topk(2), A), "topk of a number": (lambda a: a.topk(1), A[:, 0, 0]),
    "kthvalue": (lambda a: a.kthvalue(2, 0), A),
    "sort of a number": (weft.sort, A[:, 0, 0]), "cumprod of a number": (lambda a: a.cumprod(0), A[:, 0, 0]),
    "polygamma": (lambda a: weft.polygamma(2, a), A.abs()), "frexp": (weft.frexp, A), "mode": (weft.mode, A),
    "chebyshev": (lambda a: weft.special.chebyshev_polynomial_t(a, 3), A), "bits": (lambda a: a.view(weft.int32), A),
    "scatter_reduce": (lambda a: weft.zeros(4, 4, dtype=a.dtype).scatter_reduce(0, weft.tensor([[0, 1, 1, 0]] * 4), a, "amax"), A),
    "embedding": (grad(lambda w: (weft.nn.functional.embedding(weft.tensor([0, 1, 1]), w) ** 2).sum()), A),
    "unfold": (grad(lambda a: (a.unfold(0, 2, 1) ** 2).sum()), A), "inv's gradient": (grad(lambda a: L.inv(a).sum()), A),
}  # fmt: skip


def same(mapped, each):
    if isinstance(mapped, weft.Tensor):
        mapped, each = [mapped], [[e] for e in each]
    for i, whole in enumerate(mapped):
        weft.testing.assert_close(whole, weft.stack([e[i] for e in each]))


@pytest.fixture(autouse=True)
def loops_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", ONE)
def test_of_one_tensor(name):
    function, x = ONE[name]
    same(vmap(function)(x), [function(one) for one in x])
    last = x.movedim(0, -1)
    same(vmap(function, in_dims=-1)(last), [function(one) for one in x])
    twice = weft.stack([x, x.flip(0)])
    same(vmap(vmap(function))(twice), [vmap(function)(one) for one in twice])


@pytest.mark.parametrize(
    "function",
    [
        L.solve,
        lambda a, b: L.solve(a, b[:, 0]),
        lambda a, b: L.solve_triangular(a.triu(), b, upper=True),
        lambda a, b: weft.cholesky_solve(b, L.cholesky(a)),
        lambda a, b: weft.searchsorted(a[0].sort()[0], b),
    ],
)
def test_of_two_tensors(function):
    same(vmap(function)(P, B), [function(a, b) for a, b in zip(P, B)])
    same(vmap(function, in_dims=(None, 0))(P[0], B), [function(P[0], b) for b in B])
    same(vmap(function, in_dims=(0, None))(P, B[0]), [function(a, B[0]) for a in P])


DRAWS = {
    "poisson": lambda x: weft.poisson(x * 50), "bernoulli": weft.bernoulli, "multinomial": lambda x: weft.multinomial(x, 3),
    "binomial": lambda x: weft.binomial(weft.full_like(x, 90), x), "normal": lambda x: weft.normal(x, x),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws_from_tensors(name):
    draw, chances = DRAWS[name], weft.rand(9)
    weft.manual_seed(0)
    for drawn in (
        vmap(draw, randomness="different")(chances.expand(64, 9)),
        vmap(lambda _: draw(chances), randomness="different")(weft.ones(64)),
    ):
        assert len(drawn.unique(dim=0)) > 8
    assert len(vmap(lambda _: draw(chances), randomness="same")(weft.ones(64)).unique(dim=0)) == 1
    with pytest.raises(RuntimeError, match="same randomness with a batched"):
        vmap(draw, randomness="same")(chances.expand(2, 9))


def test_a_generator_advances_by_what_all_elements_draw():
    generator = weft.Generator().manual_seed(3)

    def two(x):
        return weft.rand(4, generator=generator) + x, weft.rand(4, generator=generator) + x

    one, other = vmap(two, randomness="different")(weft.zeros(8))
    assert len(weft.cat([one, other]).flatten().unique()) == 64


def test_different_draws_into_what_all_share():
    x = weft.ones(3)
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched"):
        vmap(lambda y: x.normal_() + y, randomness="different")(weft.ones(2))


def test_keyword_arguments_are_not_mapped():
    assert vmap(lambda x, y=None: x + y)(weft.ones(3), y=weft.ones(4)).shape == (3, 4)


def test_chunks_draw_the_same():
    drawn = vmap(lambda x: x + weft.rand(5), randomness="same", chunk_size=2)(weft.zeros(6))
    assert len(drawn.unique(dim=0)) == 1


def test_values_and_non_tensors_are_refused():
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(lambda x: x if x else -x)(weft.ones(3))
    with pytest.raises(ValueError, match="non-Tensor"):
        vmap(lambda x, y: x)(weft.ones(3), 1)


def test_orders_differ_where_randomness_does():
    """As PyTorch's, which draws for one element after the other."""
    weft.manual_seed(0)
    mapped = vmap(lambda _: weft.randperm(10), randomness="different")(weft.zeros(4))
    weft.manual_seed(0)
    assert weft.equal(mapped, weft.stack([weft.randperm(10) for _ in range(4)]))
    inner = vmap(lambda _: weft.randperm(30), randomness="different")
    assert len(vmap(inner, randomness="different")(weft.zeros(2, 3)).reshape(6, 30).unique(dim=0)) == 6
    same = vmap(lambda _: weft.randperm(10), randomness="same")(weft.zeros(4))
    assert len(same.unique(dim=0)) == 1


def test_a_fill_in_place_is_drawn_once_or_for_each():
    for fill in (lambda x: x.bernoulli_(), lambda x: x.bernoulli_(0.3), lambda x: x.normal_()):
        assert len(vmap(fill, randomness="same")(weft.ones(4, 50)).unique(dim=0)) == 1
        assert len(vmap(fill, randomness="different")(weft.ones(4, 50)).unique(dim=0)) == 4
    with pytest.raises(RuntimeError, match="same randomness with a batched"):
        vmap(lambda x, p: x.bernoulli_(p), randomness="same")(weft.ones(2, 9), weft.full((2, 9), 0.5))


def test_elements_without_dims_are_selected_as_they_are():
    x, first = weft.arange(3.0), weft.zeros(3, 1).long()
    assert vmap(lambda x: weft.index_select(x, 0, first[0]))(x).tolist() == [0, 1, 2]
    assert vmap(lambda x, i: weft.index_select(x, 0, i))(x, first).tolist() == [0, 1, 2]


def test_counts_of_one_size_are_stacked():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is a loop
        counts = vmap(weft.bincount)(weft.tensor([[0, 2], [1, 2]]))
    assert counts.tolist() == [[1, 0, 1], [0, 1, 1]]
    with pytest.raises(RuntimeError, match="equal size"):
        vmap(weft.bincount)(weft.tensor([[0, 1], [1, 2]]))


def test_decisions_about_the_whole_batch():
    every, some = weft.ops.aten._is_all_true, weft.ops.aten._is_any_true
    assert vmap(lambda x: x + int(bool(some(x > 2))) - int(bool(every(x > 2))))(weft.arange(4)).tolist() == [1, 2, 3, 4]
    A, b = weft.randn(3, 5, 2, dtype=weft.float64), weft.randn(3, 5, 2, dtype=weft.float64)
    plain = weft.linalg.lstsq(A, b, driver="gelsd")
    mapped = vmap(lambda a, b: tuple(weft.linalg.lstsq(a, b, driver="gelsd")))(A, b)
    assert all(weft.allclose(x, y) for x, y in zip(mapped, plain, strict=True)) and mapped[1].shape == (3, 2)
