"""What user code does inside of a transform: its own Functions, hooks, tensors made there and written in place."""

import numpy as np
import pytest

import aten
import weft
from aten import autograd
from aten.tensor import from_numpy
from aten.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap
from weft.func import functionalize

X = from_numpy(np.array([1.0, 2.0, 3.0]))


class Square(autograd.Function):
    """Its derivatives are not those of its forward, so that a test sees which was taken."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return t * 5 * x

    @staticmethod
    def vmap(info, in_dims, x):
        assert info.batch_size == 3
        return x * x * 100, in_dims[0]


class WithContext(autograd.Function):
    @staticmethod
    def forward(x, n):
        return x * n, x.detach() + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.n = inputs
        ctx.save_for_backward(x, output[0])

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * x * ctx.n + 0 * y + h, None


def values(t):
    return t.numpy().tolist()


def test_its_backward_is_taken():
    total = lambda x: Square.apply(x).sum()
    assert values(grad(total)(X)) == [3, 6, 9]
    assert values(vjp(Square.apply, X)[1](aten.ones_like(X))[0]) == [3, 6, 9]
    assert values(jacrev(Square.apply)(X).diagonal()) == [3, 6, 9]
    assert values(grad(lambda x: grad(total)(x).sum())(X)) == [3, 3, 3]
    assert values(vmap(grad(Square.apply))(X)) == [3, 6, 9]


def test_its_jvp_is_taken():
    assert values(jvp(Square.apply, (X,), (aten.ones_like(X),))[1]) == [5, 10, 15]
    assert values(jacfwd(Square.apply)(X).diagonal()) == [5, 10, 15]
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        jvp(lambda x: WithContext.apply(x, 2)[0], (X,), (X,))


def test_its_vmap_is_taken():
    assert values(vmap(Square.apply)(X)) == [100, 400, 900]


def test_a_context_with_numbers_and_results():
    """And of one output the other is not part of the result: its gradient comes as zeros."""
    total = lambda x: WithContext.apply(x, 2)[0].sum()
    assert values(grad(total)(X)) == [2, 4, 6]
    assert values(grad(lambda x: grad(total)(x).sum())(X)) == [2, 2, 2]
    assert values(grad(lambda x: WithContext.apply(x, 2)[1].sum())(X)) == [1, 1, 1]


def filled(x):
    o = aten.zeros(3, dtype=x.dtype)
    for i in range(3):
        o[i] = x[i] * x[i] * (i + 1)
    return o


def added(x):
    s, u = aten.zeros((), dtype=x.dtype), aten.ones(3, dtype=x.dtype) * 2
    s += x.sum()
    u += x
    return s * u


def copied(x):
    return aten.empty_like(x).copy_(x * x)


def through_views(x):
    o = aten.zeros(2, 3, dtype=x.dtype)
    o[0].copy_(x * x)
    o.view(-1)[3:] = x
    return o.sum(0)


CONSTANT = aten.ones(3, dtype=aten.float64)


def of_a_copy(x):
    c = CONSTANT.clone()
    c[0] = x[0] * 2
    return c * x


@pytest.mark.parametrize("f", [filled, added, copied, through_views, of_a_copy])
def test_a_tensor_made_inside_may_be_written(f):
    ones = aten.ones_like(X)
    eps = 1e-6
    expected = np.stack([((f(X + eps * e) - f(X - eps * e)) / (2 * eps)).numpy() for e in aten.eye(3, dtype=X.dtype)], -1)
    np.testing.assert_allclose(jacrev(f)(X).numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(jacfwd(f)(X).numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(grad(lambda x: f(x).sum())(X).numpy(), expected.sum(0), atol=1e-6)
    np.testing.assert_allclose(jvp(f, (X,), (ones,))[1].numpy(), expected.sum(1), atol=1e-6)
    both = aten.stack([X, 2 * X])
    each = vmap(grad(lambda x: f(x).sum()))(both)
    np.testing.assert_allclose(each[0].numpy(), expected.sum(0), atol=1e-6)
    assert hessian(lambda x: f(x).sum())(X).shape == (3, 3)


def test_a_tensor_made_like_a_batched_one_may_be_written():
    np.testing.assert_array_equal(vmap(copied)(aten.stack([X, 2 * X])).numpy(), [[1, 4, 9], [4, 16, 36]])

    def f(x):
        z = aten.zeros_like(x)
        z[0] = x[1]
        z += x.new_ones(3)
        return z

    np.testing.assert_array_equal(vmap(f)(aten.stack([X, 2 * X])).numpy(), [[3, 1, 1], [5, 1, 1]])


def test_a_tensor_from_outside_may_not():
    def f(x):
        CONSTANT[0] = x[0]
        return CONSTANT.sum()

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        grad(f)(X)


def test_a_write_of_constants_into_a_tensor_from_outside_is_one():
    seen = aten.zeros(1)

    def f(x):
        seen.add_(1)
        return x.sum()

    grad(f)(X)
    assert seen.item() == 1


def test_hooks_and_requires_grad():
    def f(x):
        assert x.requires_grad and (2 * x).requires_grad and not x.detach().requires_grad and not aten.zeros(1).requires_grad
        y = x * 2
        y.register_hook(lambda g: g * 10)
        handle = y.register_hook(lambda g: g * 100)
        handle.remove()
        x.register_hook(lambda g: g + 1)
        return (y * x.detach()).sum()

    assert values(grad(f)(X)) == [21, 41, 61]


def test_a_gradient_within():
    def f(x):
        (g,) = autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    assert values(grad(f)(X)) == [6, 12, 18]


class Unmapped(Square):
    """Square without a `vmap` of its own."""

    generate_vmap_rule = True
    vmap = staticmethod(autograd.Function.vmap)


class Simple(autograd.Function):
    """Square without `vmap` and `jvp`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x


class Scaled(autograd.Function):
    """x * y and an output that has no gradient; the gradients are tripled."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y, x > y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        x, y = ctx.saved_tensors
        return 3 * g * y, 3 * g * x


@pytest.mark.parametrize("cls", [Unmapped, Simple])
def test_a_function_without_vmap_keeps_its_own_derivative_below_and_above_vmap(cls):
    each = vmap(cls.apply)
    assert values(grad(lambda x: each(x).sum())(X)) == [3, 6, 9]
    assert values(vmap(grad(cls.apply))(X)) == [3, 6, 9]
    assert values(vjp(each, X)[1](X)[0]) == [3, 12, 27]
    np.testing.assert_array_equal(jacrev(each)(X).numpy(), np.diag([3.0, 6.0, 9.0]))
    assert values(vmap(grad(grad(cls.apply)))(X)) == [3, 3, 3]
    assert values(grad(lambda x: vmap(grad(lambda t: cls.apply(t) ** 2))(x).sum())(X)) == [24, 96, 216]  # 6 x * x^2
    both = aten.stack([X, 2 * X])
    np.testing.assert_array_equal(grad(lambda b: vmap(each)(b).sum())(both).numpy(), 3 * both.numpy())
    np.testing.assert_array_equal(grad(lambda b: vmap(cls.apply, in_dims=1)(b).sum())(both).numpy(), 3 * both.numpy())
    leaf = X.clone().requires_grad_()
    each(leaf).sum().backward()
    assert values(leaf.grad) == [3, 6, 9]


def test_forward_mode_through_vmap_of_a_function():
    ones = aten.ones_like(X)
    assert values(jvp(vmap(Unmapped.apply), (X,), (ones,))[1]) == [5, 10, 15]
    assert values(vmap(lambda x: jvp(Unmapped.apply, (x,), (x,))[1])(X)) == [5, 20, 45]
    np.testing.assert_array_equal(jacfwd(vmap(Unmapped.apply))(X).numpy(), np.diag([5.0, 10.0, 15.0]))
    with pytest.raises(NotImplementedError, match="must implement the jvp"):
        jvp(vmap(Simple.apply), (X,), (ones,))


def test_gradients_of_what_is_mapped_and_what_is_shared():
    y = from_numpy(np.array(2.0))
    mapped = vmap(lambda x, y: Scaled.apply(x, y)[0], in_dims=(0, None))
    gx, gy = grad(lambda x, y: mapped(x, y).sum(), argnums=(0, 1))(X, y)
    assert values(gx) == [6, 6, 6] and gy.item() == 18
    above = vmap(lambda x: Scaled.apply(x, y)[1])(X)
    assert values(above) == [False, False, True]
    shared = grad(lambda t: vmap(lambda a: Unmapped.apply(t) * a)(X).sum())(X)
    assert values(shared) == [18, 36, 54]


def test_modules_and_parameters_are_made_inside_of_transforms():
    def loss(w, x):
        layer = weft.nn.Linear(3, 1, bias=False)
        with weft.no_grad():
            layer.weight.fill_(2.0)
        return weft.func.functional_call(layer, {"weight": w * layer.weight}, (x,)).sum() + weft.nn.Parameter(w * 3).sum()

    w, x = weft.ones(1, 3), weft.tensor([0.5, -1.2, 2.0])
    assert weft.func.grad(loss)(w, x).tolist() == [[1.0, pytest.approx(-2.4), 4.0]]
    assert weft.func.jvp(lambda w: loss(w, x), (w,), (w,))[1].item() == pytest.approx(2.6)
    twice = weft.func.grad(lambda w: weft.func.grad(lambda w: loss(w * w, x))(w).sum())(w)
    assert twice.tolist() == [pytest.approx([2, -4.8, 8])]


DRAWS = {
    "rand": lambda x: x * weft.rand(3),
    "dropout": lambda x: weft.nn.functional.dropout(x, 0.3),
    "in place": lambda x: x * weft.empty(3).normal_(),
    "by the value": lambda x: x * weft.bernoulli(weft.full((3,), 0.5)),
    "like": lambda x: x * weft.randn_like(x),
    "places": lambda x: x[weft.randperm(3)] * weft.multinomial(weft.ones(3), 3),
    "about the value": lambda x: weft.normal(x, 1.0),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_drawn_inside_of_transforms_as_outside(name):
    f, x = DRAWS[name], weft.ones(3)

    def gradient(of):
        weft.manual_seed(3)
        return of()

    def walked():
        leaf = x.clone().requires_grad_()
        return weft.autograd.grad(f(leaf).sum(), leaf)[0]

    expected = gradient(walked)
    assert gradient(lambda: grad(lambda x: f(x).sum())(x)).tolist() == expected.tolist()
    assert gradient(lambda: jvp(f, (x,), (x,))[1]).sum().item() == pytest.approx(expected.sum().item())
    assert gradient(lambda: grad(lambda x: grad(lambda x: (f(x) ** 2).sum())(x).sum())(x)).shape == x.shape


def test_what_a_function_needs_to_be_transformed():
    class Old(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g

    for transform in (vmap, grad, jacrev, jacfwd, hessian, functionalize):
        with pytest.raises(RuntimeError, match="must override the setup_context"):
            transform(Old.apply)(X)

    class Both(Unmapped):
        @staticmethod
        def vmap(info, in_dims, x):
            return x, 0

    class Neither(Simple):
        generate_vmap_rule = False

    class Wrong(Square):
        vmap = staticmethod(lambda info, in_dims, x: x)

    class Unlike(Square):
        vmap = staticmethod(lambda info, in_dims, x: (x, (0,)))

    for cls, text in (
        (Both, "generate_vmap_rule=True and"), (Neither, "does not have vmap support"), (Wrong, "to have two returns"),
        (Unlike, "returned an incompatible"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            vmap(cls.apply)(X)


def test_an_argument_that_is_written():
    """Where gradients are off, and in forward mode, whoever passed it sees the write; else it is a leaf that requires grad."""

    def doubled(x):
        x.mul_(2)
        return (x * x).sum()

    for call in (grad(doubled), jacrev(doubled), vmap(grad(doubled))):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
            call(X.clone())
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        grad(lambda x: x[0].mul_(2))(X.clone())

    def quietly(x):
        with autograd.no_grad():
            x.mul_(2)
        return (x * x).sum()

    x = X.clone()
    assert values(grad(quietly)(x)) == [4, 8, 12] and values(x) == [2, 4, 6]
    x, t = X.clone(), aten.ones_like(X)
    out, push = jvp(lambda x: x.mul_(2), (x,), (t,))
    assert values(out) == values(x) == [2, 4, 6] and values(push) == values(t) == [2, 2, 2]


def test_autograd_inside_of_a_transform():
    """What would need `.grad`, or lose a derivative, is refused."""
    ordinary = {
        "backward": lambda x: x.sum().backward(),
        "requires_grad_": lambda x: x.requires_grad_(),
        "retain_grad": lambda x: (x * 2).retain_grad(),
        "autograd.functional": lambda x: autograd.functional.jacobian(lambda y: y.sin(), x).sum(),
    }
    for name, f in ordinary.items():
        with pytest.raises(RuntimeError, match=name):
            grad(lambda x, f=f: (f(x), x.sum())[1])(X)
    with pytest.raises(RuntimeError, match="requires_grad_"):
        vmap(lambda x: autograd.functional.hessian(lambda y: y.sin().sum(), x))(X)

    def saving(x):
        with autograd.graph.save_on_cpu():
            return x.sin().sum()

    for f in (grad, jacrev, grad_and_value, hessian):
        with pytest.raises(RuntimeError, match="saved tensor hooks"):
            f(saving)(X)
        with pytest.raises(RuntimeError, match="saved tensor hooks"), autograd.graph.save_on_cpu():
            f(lambda x: x.sin().sum())(X)


def test_a_chunk_of_one_maps_nothing():
    def jagged(x):
        return x[x > 1].sum() * x

    np.testing.assert_array_equal(jacrev(jagged, chunk_size=1)(X).numpy(), jacrev(lambda x: x[1:].sum() * x)(X).numpy())
    with pytest.raises(RuntimeError, match="can output dynamic shape"):
        vmap(lambda x: x.nonzero())(aten.stack([X, X]))


def test_randomness_within_grad():
    def f(x):
        aten.manual_seed(3)
        return (x * aten.rand(3, dtype=x.dtype)).sum()

    found = grad(f)(X)
    aten.manual_seed(3)
    np.testing.assert_array_equal(found.numpy(), aten.rand(3, dtype=X.dtype).numpy())
    assert grad(lambda x: aten.dropout(x, 0.5, True).sum())(aten.ones(64)).unique().numpy().tolist() == [0, 2]


def test_anomalies_are_found_within_transforms():
    with autograd.set_detect_anomaly(True):
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            with pytest.warns(UserWarning, match="Error detected in SqrtBackward0. Traceback of forward call"):
                grad(lambda x: x.sqrt().sum())(-X)
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values"):
            with pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
                vmap(grad(lambda x: x.sqrt()))(-X)
        assert values(vmap(grad(lambda x: x.sum()))(X)) == [1, 1, 1]
    assert grad(lambda x: x.sqrt().sum())(-X).isnan().all()
