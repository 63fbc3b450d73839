"""Programs of users of tensors alone: dtypes, layouts, errors, random numbers, printing, what is compiled."""

from __future__ import annotations

import pytest

import weft
from tests.cuda.compiled.as_on_cpu import same

F, D = weft.nn.functional, weft.distributions
DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "bool")


def printed(d):
    x = weft.arange(6.0, device=d).reshape(2, 3)
    leaf = weft.ones(1, device=d, requires_grad=True)
    return [repr(x), repr(x.int()), f"{x[0, 1]:.2f}", repr(leaf), repr(weft.empty(0, 3, device=d)),
            repr(weft.tensor(3.5, device=d)), repr(weft.arange(4000, device=d))]  # fmt: skip


def dtypes(d):
    x = weft.tensor([0, 1, 2, 3])
    return [f(x.to(getattr(weft, name)).to(d)) for name in DTYPES for f in (lambda x: x + 1, lambda x: x * 2.5, lambda x: x.sum())]


def halves(d):
    x = weft.randn(4, 33).to(d)
    ways = (lambda x: x.sum(), lambda x: x.softmax(-1), lambda x: x.var(1), lambda x: F.layer_norm(x, (33,)))
    return [f(x.to(dtype)) for dtype in (weft.float16, weft.bfloat16) for f in ways]


def what_is_no_number(d):
    x = weft.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0]).to(d)
    return x.max(), x.nan_to_num(), x.sign(), x.clamp(-1, 1), x.sort().values, x.exp(), 1 / x, x.argmax(), x[3:].nansum()


def wide_integers(d):
    x = weft.tensor([2**40 + 3, -(2**50)], device=d)
    return x * 3, x // 7, x % 1000003, x >> 3, x.to(weft.float64), x.sum(), x.to(weft.int32)


def places_beyond_32_bits(d):
    x = weft.ones(1, device=d).expand(2**33)
    return x.shape[0], x[2**32 + 5], x[-1], x[2**32 : 2**32 + 3], x.as_strided((2,), (0,))


def views(d):
    x = weft.arange(24.0, device=d).reshape(2, 3, 4)
    return [x.transpose(0, 2), x[..., ::2], x.unfold(2, 2, 1), x.movedim(0, 1)[1:], x.diagonal(dim1=1, dim2=2), x.flatten(1).t(),
            x.expand(2, 2, 3, 4)[1], weft.rot90(x[0]), x.narrow(1, 1, 2).contiguous(), x.chunk(2, 2)[1]]  # fmt: skip


def sparse(d):
    s = weft.sparse_coo_tensor(weft.tensor([[0, 1, 1], [2, 0, 2]]).to(d), weft.tensor([3.0, 4.0, 5.0]).to(d), (2, 3))
    rows = weft.eye(3).to(d).to_sparse_csr()
    return s.to_dense(), s @ weft.ones(3, 2, device=d), s.coalesce().indices(), rows @ weft.ones(3, device=d), rows.crow_indices()


def random_numbers(d):
    first, state = weft.rand(3, device=d), weft.get_rng_state()
    second = weft.rand(3, device=d)
    weft.set_rng_state(state)
    own = weft.Generator(d).manual_seed(5)
    return [first, second, weft.rand(3, device=d), weft.rand(3, device=d, generator=own), weft.randperm(6, device=d),
            weft.randint(0, 9, (4,), device=d), weft.bernoulli(weft.full((4,), 0.5, device=d))]  # fmt: skip


def samples(d):
    at, out = weft.tensor([0.5, 1.5]).to(d), []
    for made in (D.Normal(at, at + 1), D.Bernoulli(logits=at), D.Categorical(logits=at), D.Exponential(at), D.Gumbel(at, at + 1)):
        x = made.sample((3,))
        out += [x, made.log_prob(x)]
    return out


def by_default(d):
    with weft.device(d):
        x, y = weft.zeros(2), weft.rand(3)
    weft.set_default_device(d)
    try:
        return x, y, weft.nn.Linear(3, 2).weight, weft.tensor([1, 2]), weft.arange(3), weft.eye(2), x.device.type == d
    finally:
        weft.set_default_device(None)


def of_lists(d):
    x = [weft.ones(2, device=d), weft.arange(3.0, device=d)]
    weft._foreach_mul_(x, 2.0)
    return x, weft._foreach_norm(x), weft._foreach_add(x, x)


def added_in_places(d):
    x = weft.zeros(3, device=d)
    x.index_add_(0, weft.tensor([0, 0, 2, 0], device=d), weft.tensor([1.0, 2.0, 3.0, 4.0], device=d))
    at = weft.tensor([[0, 0, 1], [2, 2, 2]], device=d)
    return x, weft.zeros(2, 3, device=d).scatter_add(1, at, weft.ones(2, 3, device=d))


def a_branch_compiled(d):
    def f(x):
        y = x * 2
        return y + 1 if y.sum() > 3 else y - 1

    call = weft.compile(f)
    return call(weft.ones(4, device=d)), call(weft.zeros(4, device=d))


def symbolic_sizes(d):
    f = weft.compile(lambda x: F.softmax(x @ x.t(), -1).sum(0), dynamic=True)
    return [f(weft.randn(n, 4).to(d)) for n in (3, 5, 17)]


def noise_compiled(d):
    f = weft.compile(lambda x: F.dropout(x, 0.5) + weft.rand_like(x))
    return f(weft.ones(20, device=d)), f(weft.ones(20, device=d))


def a_number_and_the_host_compiled(d):
    f = weft.compile(lambda x, t: ((x * t + t).cpu() * 2).sum() + 1)
    return f(weft.arange(3.0, device=d), weft.tensor(2.0))


PROGRAMS = [printed, dtypes, halves, what_is_no_number, wide_integers, places_beyond_32_bits, views, sparse, random_numbers,
            samples, by_default, of_lists, added_in_places, a_branch_compiled, symbolic_sizes, noise_compiled,
            a_number_and_the_host_compiled]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_on_the_cpu(cuda, program):
    same(program)


WRONG = {
    "sizes of a product": lambda d: weft.ones(2, 3, device=d) @ weft.ones(2, 3, device=d),
    "sizes of a sum": lambda d: weft.ones(2, device=d) + weft.ones(3, device=d),
    "a view": lambda d: weft.ones(2, 3, device=d).view(5),
    "cat": lambda d: weft.cat([weft.ones(2, 2, device=d), weft.ones(3, 3, device=d)]),
    "linear": lambda d: F.linear(weft.ones(2, 3, device=d), weft.ones(4, 2, device=d)),
    "a dim": lambda d: weft.ones(2, device=d).softmax(3),
    "a leaf": lambda d: weft.ones(3, device=d, requires_grad=True).add_(1),
    "truth": lambda d: bool(weft.ones(2, device=d)),
    "item": lambda d: weft.ones(2, device=d).item(),
    "channels": lambda d: F.conv2d(weft.ones(1, 2, 3, 3, device=d), weft.ones(1, 3, 2, 2, device=d)),
    "integers divided in place": lambda d: weft.ones(2, dtype=weft.int32, device=d).div_(2),
    "an index": lambda d: weft.ones(3, device=d)[5],
    "an index of a table": lambda d: F.embedding(weft.tensor([0, 5], device=d), weft.ones(4, 3, device=d)).cpu(),
    "a gathered index": lambda d: weft.ones(4, 3, device=d).gather(0, weft.tensor([[9, 0, 0]], device=d)).cpu(),
    "a class": lambda d: F.cross_entropy(weft.ones(2, 3, device=d), weft.tensor([0, 3], device=d)).cpu(),
    "a version": lambda d: written_before_backward(weft.ones(3, device=d, requires_grad=True)),
}


def written_before_backward(x):
    y = x.exp()
    y.add_(1)
    y.sum().backward()


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_the_cpu(cuda, name):
    same(WRONG[name])
