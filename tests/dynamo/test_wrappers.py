"""Tensors of classes with a `__torch_dispatch__`, which are made of other tensors, in compiled functions."""

import operator

import pytest

import dynamo
import weft
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


@pytest.mark.parametrize("backend", ["eager", "inductor", "aot_eager"])
@pytest.mark.parametrize("name", [*WHOLE, *BREAKING])
def test_wrappers_give_what_they_give_eager(name, backend):
    function = (WHOLE | BREAKING)[name]
    for grad in (False, True):
        dynamo.reset()
        compiled = weft.compile(function, backend=backend, fullgraph=name in WHOLE)
        for n in (3, 3, 4):
            assert repr(compiled(two(n, grad, tag=n))) == repr(function(two(n, grad, tag=n)))


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
