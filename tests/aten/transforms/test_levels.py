"""grad, vjp and their like are levels of the ordinary backward walk: hooks, Nodes, Functions and checks are those of autograd.

The answers are PyTorch 2.13's, of the same programs.
"""

import gc
import weakref

import pytest

import aten
from aten import autograd, tensor
from aten.autograd import Function, graph
from aten.transforms import grad, jvp, vjp, vmap

X = [0.5, -1.25, 2.0]


def x():
    return tensor(X)


def values(t):
    return [round(v, 4) for v in t.tolist()]


def test_hooks_of_nodes():
    seen = []

    def f(x):
        y = x * 2
        y.grad_fn.register_hook(lambda gi, go: seen.append((len(gi), len(go))))
        y.grad_fn.register_prehook(lambda go: (go[0] * 4,))
        return (y * y).sum()

    assert values(grad(f)(x())) == [16, -40, 64] and seen == [(2, 1)]

    def replaced(x):
        y = x * 2
        y.grad_fn.register_hook(lambda gi, go: tuple(g if g is None else g * 7 for g in gi))
        return (y * y).sum()

    assert values(grad(replaced)(x())) == [28, -70, 112]


@pytest.mark.parametrize(
    "hook, error, message",
    [
        (lambda g: 3, TypeError, "must return None or a Tensor"),
        (lambda g: g[:2], RuntimeError, "hook '<lambda>' has changed the size of value"),
        (lambda g: g.double(), RuntimeError, "hook '<lambda>' has changed the dtype of value"),
    ],
)
def test_hooks_that_return_something_else(hook, error, message):
    def f(x):
        y = x * 2
        y.register_hook(hook)
        return (y * y).sum()

    with pytest.raises(error, match=message):
        grad(f)(x())
    with pytest.raises(error, match=message):
        f(x().requires_grad_()).backward()


def test_hooks_of_several_tensors():
    seen = []

    def f(x):
        a, b = x * 2, x * 3
        graph.register_multi_grad_hook((a, b), lambda grads: seen.append(len(grads)))
        graph.register_multi_grad_hook((a, b), lambda g: seen.append("any"), mode="any")
        return (a * b).sum()

    assert values(grad(f)(x())) == [6, -15, 24] and seen == ["any", 2]


def test_hooks_see_tensors_of_their_level():
    def f(x):
        y = x.sin()
        y.register_hook(lambda g: g * y)  # y is of the level, whose function has returned when the gradient comes
        return y.sum()

    assert values(grad(f)(x())) == values(x().sin() * x().cos())
    assert values(vmap(grad(lambda v: f(v)))(x())) == values(x().sin() * x().cos())


def test_nodes_lead_to_nodes():
    def f(x):
        y = x * 2
        z = y + x
        names = [(n.name(), i) for n, i in z.grad_fn.next_functions]
        assert names == [("MulBackward0", 0), ("torch::autograd::AccumulateGrad", 0)]
        assert z.grad_fn.next_functions[1][0].variable is x
        assert values(y.sin().grad_fn._saved_self) == values(y)
        v, i = x.max(0)
        assert not i.requires_grad and i.grad_fn is None and x.is_leaf and not v.is_leaf
        return z.sum()

    assert values(grad(f)(x())) == [3, 3, 3]


def test_what_is_saved_must_not_be_written():
    def through_the_result(x):
        y = x.exp()
        y.mul_(2)
        return y.sum()

    def through_a_view(x):
        y = x * 1
        z = y.sin()
        y[:2].mul_(2)
        return z.sum()

    def through_detach(x):
        y = x.exp()
        y.detach().mul_(2)
        return y.sum()

    for f in (through_the_result, through_a_view, through_detach):
        for run in (grad(f), lambda t, f=f: f(t.requires_grad_()).backward()):
            with pytest.raises(RuntimeError, match="modified by an inplace operation.*is at version 1; expected version 0"):
                run(x())


def test_a_write_gives_a_fresh_tensor_a_history():
    def f(x):
        o = aten.zeros([3])
        v = o[1:]
        assert not v.requires_grad
        o[1] = x[0] * 2
        assert o.requires_grad and v.requires_grad and v.grad_fn is not None
        return (o * o).sum()

    assert values(grad(f)(x())) == [4, 0, 0]


def test_writes_without_gradients_within_two_levels():
    def middle(x):
        y = x * 1
        with autograd.no_grad():
            y.mul_(2)
        return (y * y).sum()

    def leaf(x):
        with autograd.no_grad():
            x.mul_(2)
        return (x * x).sum()

    for f in (middle, leaf):
        assert values(grad(lambda x, f=f: grad(f)(x).pow(2).sum())(x())) == [8, -20, 32]


def test_detach_in_place_is_of_one_level():
    def f(x):
        y = x * 2
        y.detach_()
        assert not y.requires_grad
        return (x * y).sum()

    assert values(grad(f)(x())) == [1, -2.5, 4]
    assert values(grad(lambda x: grad(f)(x).pow(2).sum())(x())) == [4, -10, 16]


class Odd(Function):
    """x², whose derivative is said to be 3x."""

    @staticmethod
    def forward(x):
        return x * x, None, 7

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g, none, number):
        assert none is None and number is None
        return 3 * g * ctx.saved_tensors[0]


class Doubled(Function):
    """Doubles in place; the derivative is said to be 20."""

    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 20


class Wrong(Function):
    answer = staticmethod(lambda g: g[:2])

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @classmethod
    def backward(cls, ctx, g):
        return cls.answer(g)


def test_functions_with_results_that_are_no_tensors():
    assert values(grad(lambda x: Odd.apply(x)[0].sum())(x())) == [1.5, -3.75, 6]


def test_functions_that_write_their_argument():
    def f(x):
        y = x * 1
        assert Doubled.apply(y) is y
        return (y * y).sum()

    assert values(grad(f)(x())) == [40, -100, 160]


def test_gradients_of_functions_are_checked():
    with pytest.raises(RuntimeError, match="Function WrongGeneratedBackward returned an invalid gradient at index 0 - got \\[2\\]"):
        grad(lambda x: Wrong.apply(x).sum())(x())
    number = type("Number", (Wrong,), {"answer": staticmethod(lambda g: 5.0)})
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got float\)"):
        grad(lambda x: number.apply(x).sum())(x())


def test_a_gradient_within_is_differentiated_through_a_function():
    def f(x):
        y = Odd.apply(x)[0].sum()
        (g,) = autograd.grad(y, x, create_graph=True)
        return (g * x).sum()  # 3x²

    assert values(grad(f)(x())) == [3, -7.5, 12]


def test_a_gradient_within_uses_the_graph_up():
    def f(x):
        y = x.exp().sum()
        (g,) = autograd.grad(y, x)
        assert not g.requires_grad
        return (g * x).sum()

    assert values(grad(f)(x())) == values(x().exp())

    def twice(x):
        y = x.exp().sum()
        autograd.grad(y, x)
        return autograd.grad(y, x)[0].sum()

    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        grad(twice)(x())


def test_places_that_were_saved_have_no_history():
    t = x().requires_grad_()
    v, i = t.sort()
    (g,) = autograd.grad(v[0] + t[0], t, create_graph=True)
    assert not g.requires_grad


def test_nothing_is_left_when_the_gradient_is_there():
    gone = []

    def f(x):
        for _ in range(3):
            x = x.exp().sin() * x[:1]
            gone.append(weakref.ref(x))
        return x.sum()

    gc.collect()
    gc.disable()
    try:
        grad(f)(x())
        out, pull = vjp(f, x())
        pull(aten.ones([]))
        del out, pull
        assert [r() for r in gone] == [None] * 6
    finally:
        gc.enable()


def test_levels_within_levels():
    f = lambda x: (x.sin() * x).sum()
    d2 = x().cos() * 2 - x() * x().sin()
    assert values(jvp(grad(f), (x(),), (aten.ones([3]),))[1]) == values(d2)
    out, pull = vjp(grad(f), x())
    assert values(pull(aten.ones([3]))[0]) == values(d2)
    assert values(vmap(grad(grad(lambda v: v.sin() * v)))(x())) == values(d2)
