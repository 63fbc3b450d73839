"""vmap, grad, vjp, jvp and Jacobians inside of compiled functions: one graph, the values and gradients of the plain call."""

import pytest

import weft
from weft import func

weft.manual_seed(0)
w = weft.randn(4, 4, requires_grad=True)
y = weft.randn(4)
outside = func.vmap(lambda a: a.sin().sum())
PROGRAMS = {
    "vmap": lambda x: func.vmap(lambda a: (a * 2).sum())(x),
    "dims": lambda x: func.vmap(lambda a, b: a * b, in_dims=(0, None), out_dims=1)(x, y),
    "free": lambda x: func.vmap(lambda a: a @ w)(x),
    "keyword": lambda x: func.vmap(lambda a, b: a + b)(x, b=x * 2),
    "grad": lambda x: func.grad(lambda a: (a.sin() * y).sum())(x),
    "aux": lambda x: func.grad(lambda a: ((a**2).sum(), {"more": a + 1, "n": a[0]}), has_aux=True)(x),
    "value": lambda x: func.grad_and_value(lambda a, b: (a @ b).sum(), argnums=(0, 1))(x, y),
    "per sample": lambda x: func.vmap(func.grad(lambda a: (a @ w).sin().sum()))(x),
    "jacrev": lambda x: func.jacrev(lambda a: a.sin())(x[0]),
    "jacfwd": lambda x: func.jacfwd(lambda a: a @ w)(x[0]),
    "hessian": lambda x: func.hessian(lambda a: (a**3).sum())(x[0]),
    "vjp": lambda x: (lambda out, pull: (out, pull(out)))(*func.vjp(lambda a: a @ w, x)),
    "jvp": lambda x: func.jvp(lambda a: (a @ w).sin(), (x,), (x * 0 + 1,)),
    "linearize": lambda x: (lambda out, push: (out, push(x * 2), push(x)))(*func.linearize(lambda a: (a @ w).sin(), x)),
    "random": lambda x: func.grad(lambda a: (a * weft.zeros_like(a).bernoulli_(1.0) * weft.nn.functional.dropout(y, 0.0)).sum())(x),
    "made outside": lambda x: outside(x),
    "dict": lambda x: func.grad(lambda p: (p["w"] * x).sum() + p["b"].sum())({"w": y, "b": x}),
    "nested": lambda x: func.vmap(func.vmap(lambda a, b: a * b, in_dims=(0, None)), in_dims=(None, 0))(y, x.T),
    "second": lambda x: func.grad(lambda a: func.grad(lambda b: (b**3).sum())(a).sum())(x),
    "under no_grad": lambda x: weft.no_grad()(lambda: func.grad(lambda a: (a**2).sum())(x))(),
    "made inside": lambda x: func.vmap(lambda a: weft.zeros_like(a).copy_(a).mul_(2))(x),
}
REFUSED = {
    "not a scalar": lambda x: func.grad(lambda a: a * 2)(x),
    "no such dim": lambda x: func.vmap(lambda a: a, in_dims=3)(x),
    "randomness": lambda x: func.vmap(lambda a: a + weft.rand(3))(x),
}


def leaves(value):
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in leaves(v)]
    return [x for v in value.values() for x in leaves(v)] if isinstance(value, dict) else [value]


def same(got, expected):
    assert type(got) is type(expected)
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert weft.allclose(a, b, atol=1e-5) if isinstance(b, weft.Tensor) else a == b


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_and_the_plain_values(name, backend):
    compiled = weft.compile(PROGRAMS[name], backend=backend, fullgraph=True)
    for n in (5, 6, 7):  # the last by a symbolic size
        x = weft.randn(n, 4, requires_grad=True)
        expected, got = PROGRAMS[name](x), compiled(x)
        same(got, expected)
        total = sum(t.sum() for t in leaves(expected) if isinstance(t, weft.Tensor))
        if total.requires_grad:
            again = sum(t.sum() for t in leaves(got) if isinstance(t, weft.Tensor))
            gradients = [weft.autograd.grad(out, (x, w), allow_unused=True) for out in (again, total)]
            for a, b in zip(*gradients):
                assert (a is None and b is None) or weft.allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_transform_refuses(name):
    x = weft.randn(5, 4)
    with pytest.raises(Exception) as plain:
        REFUSED[name](x)
    with pytest.raises(type(plain.value)) as found:
        weft.compile(REFUSED[name], backend="eager", fullgraph=True)(x)
    assert str(found.value) == str(plain.value)


def test_what_a_transformed_function_reads_is_guarded():
    scale = [2.0]
    f = lambda x: func.vmap(lambda a: a * scale[0])(x)
    compiled = weft.compile(f, backend="eager", fullgraph=True)
    x = weft.ones(3, 2)
    for scale[0] in (2.0, 3.0, 4.0):
        assert weft.equal(compiled(x), f(x))


def test_a_value_that_leaves_otherwise_than_by_return_breaks():
    def f(x):
        kept = []

        def g(a):
            kept.append(a * 2)
            return a.sum()

        return func.vmap(g)(x), len(kept), kept[0]

    with pytest.raises(weft._dynamo.Unsupported, match="leaves the function"):
        weft.compile(f, backend="eager", fullgraph=True)(weft.ones(3, 2))


def test_writes_into_tensors_from_outside_break():
    def f(x):
        total = x.sin()

        def g(a):
            total.add_(1)
            return a.sum()

        return func.vmap(g)(x), total

    x = weft.ones(3, 2)
    with pytest.raises(weft._dynamo.Unsupported, match="from outside"):
        weft.compile(f, backend="eager", fullgraph=True)(x)
    same(weft.compile(f, backend="eager")(x), f(x))


def test_tangents_of_a_size_that_was_seen_to_change_are_compared_in_the_call():
    def f(x, v):
        return weft.func.jvp(lambda x: x.sin(), (x,), (v,))[1]

    compiled = weft.compile(f)
    for n in (5, 9, 11):
        x, v = weft.randn(n, requires_grad=True), weft.randn(n, requires_grad=True)
        weft.testing.assert_close(compiled(x, v), f(x, v))
    with pytest.raises(RuntimeError, match="different size"):
        compiled(weft.randn(5), weft.randn(6))
