"""Operands that are seldom: classes that take calls of ops, complex numbers as truth, bounds that are no ints, views of leaves."""

import weft
from tests.review.harness import prog, times, told


class Box:
    def __init__(self, tensor):
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return Box(func(*[a.tensor if isinstance(a, Box) else a for a in args], **(kwargs or {})))


@prog
def a_class_that_takes_ops(C):
    def f(x, box):
        made = x + box, box - x, x == box, box != x, x < box, box**x, x @ box
        return [m.tensor for m in made]

    x = weft.arange(3.0)
    return C(f)(x, Box(x * 3)), C(f)(x, Box(x))


@prog
def imaginary_truth(C):
    x = weft.tensor([0.5j, 0j, 1 + 0j])
    return times(C, lambda x: (x.bool(), x.to(weft.bool).sum(), x.logical_not()), (x,), (x * 2,))


@prog
def half_steps_to_a_changing_bound(C):
    def f(x, n):
        return weft.arange(0, n, 0.5) * 2, weft.arange(0.0, n).sum() + x, weft.arange(n, 0, -0.25)

    c = C(f, dynamic=True)
    return [c(weft.ones(2), n) for n in (4, 5, 7)]


@prog
def a_leaf_that_is_a_view(C):
    def f(a):
        a[0].mul_(2)
        return a

    def g(a):
        return a[0].unsqueeze_(0)

    leaf = lambda: weft.arange(6.0).reshape(2, 3).requires_grad_()
    return [told(C(h), leaf()) for h in (f, g)]


@prog
def several_ellipses(C):
    x = weft.arange(6).view(2, 3)
    return C(lambda x: (x[..., ...], x[0, ..., 1, ...], x[..., 0, ...]))(x), told(C(lambda x: x[..., ..., 0]), x)
