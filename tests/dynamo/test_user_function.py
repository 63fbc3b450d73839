"""autograd.Function inside of compiled functions: one graph; its own backward is taken, its second derivative too."""

import pytest

import weft


class Clipped(weft.autograd.Function):
    """Whose gradient is not what its forward would give."""

    @staticmethod
    def forward(ctx, x, k=2):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g * ctx.k * x).clamp(-1, 1), None


class Two(weft.autograd.Function):
    """Two results, one of them kept."""

    @staticmethod
    def forward(x, y):
        return x * y, x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx, a, b):
        x, y, e = ctx.saved_tensors
        return a * y + b * e * 3, a * x


class Reversed(weft.autograd.Function):
    """An argument as it came, with another gradient."""

    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return -g


class Rounded(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        above = x > 0
        ctx.mark_non_differentiable(above)
        return x.round(), above

    @staticmethod
    def backward(ctx, g, _):
        return g * 5


class Written(weft.autograd.Function):
    """Whose backward writes into what it is given."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g[x.abs() > 1] = 0
        return g.clamp_(-1, 1)


scale = weft.tensor([3.0])
PROGRAMS = {
    "clipped": lambda x: (Clipped.apply(x * 3) + x).sum(),
    "constant": lambda x: Clipped.apply(x, 7).sum(),
    "two": lambda x: (lambda a, b: a.sum() + b.cos().sum())(*Two.apply(x, x * 2)),
    "one unused": lambda x: Two.apply(x, x * 2)[0].sum(),
    "reversed": lambda x: Reversed.apply(x.sin()).sum() + x.sum(),
    "not differentiable": lambda x: (lambda r, above: (r * above).sum())(*Rounded.apply(x * 3)),
    "twice": lambda x: Clipped.apply(Reversed.apply(x)).sum(),
    "written": lambda x: (Written.apply(x * 2) * x * 3).sum(),
    "in grad": lambda x: weft.func.grad(lambda y: Reversed.apply(y * scale).sum())(x).sum() + x.sum(),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name, backend):
    f = PROGRAMS[name]
    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for n in (4, 5, 6):
        x = weft.randn(n, requires_grad=True)
        expected, got = f(x), compiled(x)
        weft.testing.assert_close(got, expected)
        for a, b in zip(weft.autograd.grad(got, x), weft.autograd.grad(expected, x)):
            weft.testing.assert_close(a, b)
    with weft.no_grad():
        weft.testing.assert_close(compiled(x), f(x))


@pytest.mark.parametrize("name", ["clipped", "two"])
def test_second_derivatives(name):
    f = PROGRAMS[name]
    compiled = weft.compile(f, fullgraph=True)
    x = weft.randn(5, requires_grad=True)
    (a,) = weft.autograd.grad(f(x), x, create_graph=True)
    (b,) = weft.autograd.grad(compiled(x), x, create_graph=True)
    weft.testing.assert_close(weft.autograd.grad(b.sum(), x), weft.autograd.grad(a.sum(), x))


def test_once_differentiable():
    class Once(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @weft.autograd.function.once_differentiable
        def backward(ctx, g):
            return ctx.saved_tensors[0] * 2 * g

    compiled = weft.compile(lambda x: Once.apply(x).sum(), fullgraph=True)
    x = weft.randn(5, requires_grad=True)
    (g,) = weft.autograd.grad(compiled(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        weft.autograd.grad(g.sum(), x)


def test_another_number_of_gradients_is_refused():
    class Wrong(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    x = weft.randn(5, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        weft.compile(lambda x: Wrong.apply(x, x).sum(), backend="eager")(x).backward()


def test_transforms_within_see_the_function_and_not_its_operations():
    x = weft.tensor([0.5, -1.25, 2.0])
    f = lambda x: Own.apply(x).sum()
    for transform in (
        lambda x: weft.func.grad(f)(x),
        lambda x: weft.func.grad(lambda k, x: f(x) * k, argnums=1)(2.0, x),
        lambda x: weft.func.vjp(Own.apply, x)[1](x)[0],
        lambda x: weft.func.jacrev(Own.apply)(x),
        lambda x: weft.func.vmap(weft.func.grad(Own.apply))(x),
        lambda x: weft.func.grad(lambda x: weft.func.grad(f)(x).pow(2).sum())(x),
    ):
        assert weft.compile(transform, fullgraph=True)(x).tolist() == transform(x).tolist()
    push = lambda x: weft.func.jvp(Own.apply, (x,), (x,))[1]  # its own tangents, so without a graph
    assert weft.compile(push)(x).tolist() == push(x).tolist() == (x * x * 5).tolist()


class Own(weft.autograd.Function):
    """x², with other derivatives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return 5 * t * ctx.saved_tensors[0]


class NoGradient(weft.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_backward_that_gives_none_alone_leaves_results_that_require_grad(backend):
    x = weft.ones(3, requires_grad=True)
    y = weft.compile(lambda x: NoGradient.apply(x), backend=backend, fullgraph=True)(x)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad is None
