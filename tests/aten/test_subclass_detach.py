"""Tensors whose class takes ops itself are asked about detach and the factories that make one of their kind."""

import weft
from weft.utils._pytree import tree_map


class Wrapper(weft.Tensor):
    @staticmethod
    def __new__(cls, elem):
        made = weft.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, requires_grad=elem.requires_grad)
        made.elem = elem.detach()
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inner = tree_map(lambda e: e.elem if isinstance(e, cls) else e, (args, kwargs or {}))
        return tree_map(lambda e: cls(e) if isinstance(e, weft.Tensor) else e, func(*inner[0], **inner[1]))


X = Wrapper(weft.tensor([1.0, 2.0]))


def test_detach_and_factories():
    for made, expected in (
        (X.detach(), [1, 2]), (weft.zeros_like(X), [0, 0]), (weft.ones_like(X), [1, 1]), (weft.full_like(X, 3), [3, 3]),
        (X.new_zeros(1), [0]), (X.new_full((1,), 4.0), [4]),
    ):  # fmt: skip
        assert type(made) is Wrapper and made.elem.tolist() == expected


def test_jacobians_of_wrapped_values():
    from weft.autograd.functional import hessian, jacobian

    for vectorize in (False, True):
        assert jacobian(lambda x: x * x, X, vectorize=vectorize).elem.tolist() == [[2, 0], [0, 4]]
        assert hessian(lambda x: (x**3).sum(), X, vectorize=vectorize).elem.tolist() == [[6, 0], [0, 12]]


def test_plain_subclasses_keep_their_class():
    class Named(weft.Tensor):
        pass

    assert type(weft.ones(2).as_subclass(Named).detach()) is Named
    assert type(weft.ones(2).as_subclass(Named).as_subclass(weft.Tensor)) is weft.Tensor


def test_a_captured_detach_is_of_the_class():
    class Plain(weft.Tensor):
        pass

    x = weft.ones(2, 2).as_subclass(Plain)
    result = weft.compile(lambda x: x.detach() * 2, fullgraph=True, backend="eager")(x)
    assert type(result) is Plain and result.tolist() == [[2.0, 2.0], [2.0, 2.0]]
