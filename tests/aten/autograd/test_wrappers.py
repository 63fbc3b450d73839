"""Derivatives of wrappers: tensors of classes with a `__torch_dispatch__`, whose own memory has no meaning."""

from weft.autograd import gradcheck

import weft


class Wrapper(weft.Tensor):
    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = weft.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=requires_grad)
        made.inner = inner.detach() if requires_grad else inner
        return made

    def __repr__(self):
        return super().__repr__(tensor_contents=f"{self.inner}")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        given = [a.inner if isinstance(a, cls) else a for a in args]
        made = func(*given, **(kwargs or {}))
        return args[0] if made is given[0] else cls(made) if isinstance(made, weft.Tensor) else made


def test_a_result_that_is_saved_is_what_its_class_makes_of_it():
    x = Wrapper(weft.tensor([0.0, 1.0]), requires_grad=True)
    x.exp().tanh().sum().backward()
    y = x.inner.clone().requires_grad_()
    y.exp().tanh().sum().backward()
    assert type(x.grad) is Wrapper and x.grad.inner.tolist() == y.grad.tolist()


def test_gradcheck_reads_and_moves_what_a_wrapper_holds():
    x = Wrapper(weft.tensor([0.5, 1.0], dtype=weft.float64), requires_grad=True)
    for fast_mode in (True, False):
        assert gradcheck(lambda x: x.sigmoid() * x, (x,), fast_mode=fast_mode)
    assert x.inner.tolist() == [0.5, 1.0]


def test_a_class_says_what_its_tensors_print():
    assert repr(Wrapper(weft.ones(1))) == "Wrapper(tensor([1.]))"
