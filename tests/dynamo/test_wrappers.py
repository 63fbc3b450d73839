"""Tensors of classes with a `__torch_dispatch__`, which are made of other tensors, in compiled functions."""

import dataclasses
import operator
import re
from typing import NamedTuple

import pytest

import dynamo
import weft
from dynamo.backends.common import aot_autograd
from dynamo.testing import CompileCounter
from weft.utils import _pytree as pytree
from weft.utils._python_dispatch import return_and_correct_aliasing


class Two(weft.Tensor):
    """Every op on both of two tensors; `tag` says nothing about the values."""

    @staticmethod
    def __new__(cls, a, b, tag=0):
        return weft.Tensor._make_wrapper_subclass(
            cls, a.size(), strides=a.stride(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad
        )

    def __init__(self, a, b, tag=0):
        self.a, self.b, self.tag = a, b, tag

    def __tensor_flatten__(self):
        return ["a", "b"], self.tag

    @staticmethod
    def __tensor_unflatten__(inner, context, sizes, strides):
        return Two(inner["a"], inner["b"], context)

    def __repr__(self):
        return f"Two({self.a}, {self.b}, {self.tag})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs):
        tag = next(x.tag for x in pytree.tree_leaves(args) if isinstance(x, Two))
        parts = []
        for name in "ab":
            own, named = pytree.tree_map_only(Two, operator.attrgetter(name), (args, kwargs or {}))
            parts.append(pytree.tree_flatten(func(*own, **named)))
        (left, spec), (right, _) = parts
        out = [cls(x, y, tag) if isinstance(x, weft.Tensor) else x for x, y in zip(left, right)]
        return return_and_correct_aliasing(func, args, kwargs, pytree.tree_unflatten(out, spec))


def two(n=3, grad=False, tag=0):
    return Two(weft.ones(n, 4, requires_grad=grad), weft.full((n, 4), 2.0, requires_grad=grad), tag)


WHOLE = {
    "arithmetic": lambda t: t * 2 + 1,
    "its size": lambda t: t * t.size()[0],
    "a view": lambda t: t.clone().view(t.shape[0] * t.shape[1]),
    "parts": lambda t: (t + 1).a * t.b,
    "its class": lambda t: t.sin() if isinstance(t, Two) and type(t + 1) is Two else t,
    "a composite": lambda t: weft.nn.functional.linear(t, weft.ones(5, 4)).softmax(-1).sum(),
    "a list": lambda t: weft.cat([t, t]),
    "a product": lambda t: t @ t.t(),
    "with a plain tensor": lambda t: t + weft.ones(4),
    "its context": lambda t: (t + 1).tag + t.tag,
}
BREAKING = {
    "several results": lambda t: t.split(1),
    "in place": lambda t: t.clone().add_(1) * 2,
    "a number": lambda t: t.sum().item(),
}


def text(value):
    """As it prints, without the name of what made it."""
    return re.sub("<[A-Za-z0-9]+Backward[0-9]*>", "<>", repr(value))


@pytest.mark.parametrize("backend", ["eager", "inductor", "aot_eager"])
@pytest.mark.parametrize("name", [*WHOLE, *BREAKING])
def test_wrappers_give_what_they_give_eager(name, backend):
    function = (WHOLE | BREAKING)[name]
    for grad in (False, True):
        dynamo.reset()
        compiled = weft.compile(function, backend=backend, fullgraph=name in WHOLE)
        for n in (3, 3, 4):
            assert text(compiled(two(n, grad, tag=n))) == text(function(two(n, grad, tag=n)))


def test_gradients_of_a_wrapper():
    grads = []
    for function in (lambda t: (t * t).sum(), weft.compile(lambda t: (t * t).sum(), fullgraph=True)):
        t = two(grad=True)
        function(t).backward()
        grads.append(repr(t.grad))
    assert grads[0] == grads[1]


def test_what_a_wrapper_is_made_of_is_guarded():
    counter = CompileCounter()
    compiled = weft.compile(lambda t: t * 2, backend=counter)
    for t, count in ((two(), 1), (two(), 1), (two(tag=1), 2), (two(n=5), 3), (Two(weft.ones(3, 4), two()), 4), (two(tag=1), 4)):
        compiled(t)
        assert counter.frame_count == count


def test_a_class_says_which_contexts_are_the_same():
    class Tolerant(Two):
        @staticmethod
        def __tensor_unflatten__(inner, context, sizes, strides):
            return Tolerant(inner["a"], inner["b"], context)

        @classmethod
        def __metadata_guard__(cls, compiled, now):
            return compiled <= now

    counter = CompileCounter()
    compiled = weft.compile(lambda t: t * 2, backend=counter)
    for tag, count in ((2, 1), (3, 1), (1, 2)):
        compiled(Tolerant(weft.ones(2), weft.ones(2), tag))
        assert counter.frame_count == count


def recording(graphs):
    """A compiler of core graphs that keeps them."""
    return lambda gm, metas: graphs.append([n.target.name for n in gm.graph.nodes if n.op == "call_function"]) or gm.forward


def test_backends_get_graphs_of_the_parts():
    forwards, backwards = [], []
    backend = aot_autograd(fw_compiler=recording(forwards), bw_compiler=recording(backwards))
    compiled = weft.compile(lambda t: (t * 3).view(-1), backend=backend, fullgraph=True)
    t, expected = two(grad=True), two(grad=True)
    (compiled(t) * t.view(-1)).sum().backward()
    ((expected * 3).view(-1) * expected.view(-1)).sum().backward()
    assert repr(t.grad) == repr(expected.grad)
    assert forwards == [["mul", "mul", "view", "view"]]
    assert backwards == [["view", "view", "mul", "mul"]]


def test_results_share_memory_as_eager_ones_do():
    def parts(t):
        y = t.clone()
        return y.a, y.view(-1), y.b

    for function in (parts, weft.compile(parts, fullgraph=True), weft.compile(parts, fullgraph=True, backend="aot_eager")):
        t = two(grad=True)
        a, whole, b = function(t)
        assert [x.requires_grad for x in (a, whole, b)] == [False, True, False]
        a.zero_()
        b[0] = 7
        assert whole.a.sum().item() == 0 and whole.b.tolist() == [7.0] * 4 + [2.0] * 8
        assert t.a.sum().item() == 12


class Twice(Two):
    """Gives twice what a product is: what its derivative knows nothing of."""

    @staticmethod
    def __tensor_unflatten__(inner, context, sizes, strides):
        return Twice(inner["a"], inner["b"], context)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs):
        out = super().__torch_dispatch__(func, types, args, kwargs)
        if func is weft.ops.aten.mul.Tensor:
            out = cls(out.a + out.a, out.b + out.b, out.tag)
        return out


@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
def test_derivatives_are_those_of_the_ops_above_the_class(backend):
    grads = []
    for function in (lambda t: t * t, weft.compile(lambda t: t * t, backend=backend, fullgraph=True)):
        t = Twice(weft.ones(3, requires_grad=True), weft.full((3,), 2.0, requires_grad=True))
        function(t).sum().backward()
        grads.append(repr(t.grad))
    assert grads[0] == grads[1]


def test_a_gradient_that_is_made_otherwise():
    compiled = weft.compile(lambda t: (t * 2, t.sin()), fullgraph=True)
    grads = []
    for function in (lambda t: (t * 2, t.sin()), compiled):
        t = two(grad=True)
        first, _ = function(t)  # the second gets none
        first.backward(Two(weft.ones(3, 4), weft.ones(3, 4), tag=5))
        grads.append((t.grad.a.tolist(), t.grad.b.tolist()))
    assert grads[0] == grads[1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_wrappers_are_made_in_a_graph(backend):
    def f(x, y):
        t = Two(x * 2, y, tag=x.shape[0])
        out = t + 1
        return out, out.a.sum() + t.b, out.tag

    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for n in (3, 5):
        x, y = weft.arange(4.0 * n).view(n, 4), weft.ones(n, 4)
        (wanted, plain, tag), (found, part, label) = f(x, y), compiled(x, y)
        assert type(found) is Two and tag == label == n
        for a, b in ((wanted.a, found.a), (wanted.b, found.b), (plain, part)):
            assert type(a) is type(b) and a.equal(b)


def test_a_wrapper_that_is_a_leaf_is_made_by_python():
    def f(x):
        return Two(x, x * 2).sum()

    x = weft.ones(2, 4, requires_grad=True)
    counter = CompileCounter()
    found = weft.compile(f, backend=counter)(x)
    assert type(found) is Two and found.b.item() == 16 and found.requires_grad


@dataclasses.dataclass(frozen=True)
class Facts:
    sizes: tuple
    inner: object = None


class Named(NamedTuple):
    sizes: tuple
    inner: object = None


@pytest.mark.parametrize("facts", [Facts, Named])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_what_a_wrapper_is_told_is_made_in_the_graph(facts, backend):
    def f(x):
        told = facts(x.shape, facts((1, 2)))
        return Two(x, x + 1, told) * 2

    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for n in (2, 3):
        wanted, found = f(weft.ones(n, 4)), compiled(weft.ones(n, 4))
        assert found.tag == wanted.tag and type(found.tag) is facts and found.b.equal(wanted.b)


@weft._dynamo.allow_in_graph
def both(x):
    return Two(x.clone(), x + 1)


@weft._dynamo.allow_in_graph
def from_outside(x):
    return OUTSIDE[0]


OUTSIDE = [weft.ones(2)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_function_that_stands_in_the_graph_gives_a_wrapper(backend):
    def f(x):
        return both(x).view(-1) * 2

    x = weft.arange(8.0).view(2, 4)
    wanted, found = f(x), weft.compile(f, backend=backend, fullgraph=True)(x)
    assert type(found) is Two and found.a.equal(wanted.a) and found.b.equal(wanted.b)

    compiled = weft.compile(lambda x: from_outside(x) + x, backend=backend)
    for value in (1.0, 2.0):
        OUTSIDE[0] = weft.full((2,), value)
        assert compiled(weft.zeros(2)).tolist() == [value, value]


def test_a_wrapper_given_other_memory_has_its_own_size():
    """`.data =` gives it the layout of the other, whatever its parts are."""

    def f(t):
        return (t * t.shape[0]).a

    def told(g):
        t = two()
        before = g(t)
        t.data = Two(weft.ones(6, 4), weft.ones(6, 4))
        return [before.tolist(), g(t).tolist(), t.shape]

    assert told(weft.compile(f)) == told(f)
