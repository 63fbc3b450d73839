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


class Doubled(weft.autograd.Function):
    """Writes into its argument."""

    @staticmethod
    def forward(ctx, x, k=2):
        x.mul_(k)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return 5 * g + ctx.saved_tensors[0], None


def written_and_used(x):
    y = x + 1
    held = [y]
    z = Doubled.apply(y)
    return z * 3 + y + held[0], z is y


class Both(weft.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return b + a, a.add_(b)

    @staticmethod
    def backward(ctx, g, h):
        return g + 2 * h, 3 * g


def written_twice(x):
    y = x * 2
    _, z = Both.apply(y, x + 1)
    return Both.apply(z, x - 1)[0].sin(), y


def of_two(x):
    a, b = x * 2, x.tan()
    return *Both.apply(a, b), a


def of_a_view(x):
    y = x * 2
    v = y[1:]
    Doubled.apply(v)
    return y * 3


def of_what_has_views(x):
    y = x * 2
    v = y[1:]
    Doubled.apply(y)
    return v * 3


class Reads(weft.autograd.Function):
    @staticmethod
    def forward(ctx, a, holder):
        a.mul_(2)
        ctx.mark_dirty(a)
        ctx.sum = holder[0].sum()
        return a

    @staticmethod
    def backward(ctx, g):
        return g * ctx.sum, None


def read_in_another_way(x):
    y = x * 2
    return Reads.apply(y, [y])


def given_twice(x):
    y = x * 2
    return Both.apply(y, y)


@pytest.mark.parametrize("f", [written_and_used, written_twice, of_two], ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_an_argument_that_is_written_is_part_of_one_graph(f, backend):
    agrees(weft.compile(f, backend=backend, fullgraph=True), f)


@pytest.mark.parametrize("f", [of_a_view, of_what_has_views, read_in_another_way, given_twice], ids=lambda f: f.__name__)
def test_an_argument_that_is_written_and_seen_elsewhere_is_left_to_python(f):
    agrees(weft.compile(f), f)


def agrees(compiled, f):
    """Results and gradients are those of plain code."""
    x, y = (weft.tensor([0.5, -1.0, 2.0], requires_grad=True) for _ in range(2))
    got, want = compiled(x), f(y)
    weft.testing.assert_close(got, want)
    for value in (got, want):
        tensors = [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, weft.Tensor)]
        sum((i + 1) * v.sum() for i, v in enumerate(tensors)).backward()
    weft.testing.assert_close(x.grad, y.grad)


def test_what_was_saved_and_is_written_by_a_function_is_refused_as_by_plain_code():
    def f(x):
        y = x.exp()
        return Doubled.apply(y)

    for g in (f, weft.compile(f)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            g(weft.ones(3, requires_grad=True)).sum().backward()
