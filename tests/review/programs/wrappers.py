"""Tensors with a `__torch_dispatch__` or a `__torch_function__`."""

import weft
import weft.utils._pytree as pytree
from tests.review.harness import brk, prog
from weft import nn

T = weft.tensor


def x0():
    return weft.arange(3.0)


class Two(weft.Tensor):
    @staticmethod
    def __new__(cls, a, b, extra=None):
        return weft.Tensor._make_wrapper_subclass(cls, a.size(), strides=a.stride(), dtype=a.dtype, requires_grad=a.requires_grad)

    def __init__(s, a, b, extra=None):
        s.a = a
        s.b = b
        s.extra = extra

    def __repr__(s):
        return f"Two({s.a.tolist()},{s.b.tolist()},{s.extra})"

    def __tensor_flatten__(s):
        return ["a", "b"], s.extra

    @staticmethod
    def __tensor_unflatten__(inner, ctx, size, stride):
        return Two(inner["a"], inner["b"], ctx)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        A = pytree.tree_map_only(Two, lambda t: t.a, (args, kwargs))
        B = pytree.tree_map_only(Two, lambda t: t.b, (args, kwargs))
        ex = [t.extra for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, Two)][0]
        oa = func(*A[0], **A[1])
        ob = func(*B[0], **B[1])
        flat, spec = pytree.tree_flatten(oa)
        fb, _ = pytree.tree_flatten(ob)
        out = [Two(p, q, ex) if isinstance(p, weft.Tensor) else p for p, q in zip(flat, fb)]
        return pytree.tree_unflatten(out, spec)


def two(e=None, rg=False):
    return Two(x0().requires_grad_(rg), x0() * 10, e)


def sh(v):
    if isinstance(v, Two):
        return ("Two", sh(v.a), sh(v.b), v.extra, tuple(v.shape), v.requires_grad)
    if isinstance(v, weft.Tensor):
        return (v.tolist(), v.requires_grad)
    if isinstance(v, (list, tuple)):
        return [sh(i) for i in v]
    return repr(v)


def times(C, f, *argss):
    c = C(f)
    out = []
    for a in argss:
        try:
            out.append(sh(c(*a)))
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out


@prog
def w_add(C):
    return times(C, lambda t: t + 1, (two(),), (two("e"),), (x0(),), (two(),))


@prog
def w_mixed(C):
    return times(C, lambda t, x: (t * x, x * t, t + t, x - t), (two(), x0()), (two(2), x0()))


@prog
def w_views(C):
    return times(C, lambda t: (t[1:], t.reshape(1, 3), t.unsqueeze(0).sum(0), t.view(-1)), (two(),), (two(),))


@prog
def w_reduce(C):
    return times(C, lambda t: (t.sum(), t.mean(0), t.max(0), t.argmax(), t.sort()), (two(),))


@prog
def w_inner(C):
    def f(t):
        return t.a * 2, t.b + t.a, t.extra

    return times(C, f, (two("q"),), (two(3),))


@prog
def w_setinner(C):
    def f(t):
        t.a = t.a + 1
        t.extra = "new"
        return t * 2

    t = two("o")
    return times(C, f, (t,), (t,)), sh(t)


@prog
def w_make(C):
    def f(x):
        t = Two(x, x * 2, "m")
        return t + 1, t.b

    return times(C, f, (x0(),), (x0() + 1,))


@prog
def w_isinstance(C):
    return times(C, lambda t: (t + 1 if isinstance(t, Two) else t - 1, type(t).__name__), (two(),), (x0(),), (two(),))


@prog
def w_inplace(C):
    def f(t):
        t.add_(1)
        u = t * 2
        t.mul_(3)
        return u

    t = two()
    return times(C, f, (t,), (t,)), sh(t)


@prog
def w_extra_branch(C):
    return times(C, lambda t: t * 2 if t.extra else t * 3, (two(0),), (two(1),), (two(None),), (two("s"),))


@prog
def w_grad(C):
    def f(t):
        return (t * t).sum()

    out = []
    c = C(f)
    for _ in range(2):
        t = two(rg=True)
        r = c(t)
        out.append(sh(r))
    return out


@prog
def w_nested(C):
    def f(t):
        return t * 2

    def mk():
        return Two(two("in"), two("in2"), "out")

    return times(C, f, (mk(),), (mk(),))


@prog
def w_list(C):
    return times(C, lambda ts: [t + 1 for t in ts], ([two(1), x0(), two(2)],), ([x0(), two(1), two(2)],))


@prog
def w_same(C):
    def f(a, b):
        return a + b, a is b

    t = two()
    return times(C, f, (t, t), (t, two()))


@prog
def w_inner_same(C):
    def f(t):
        t.a.add_(1)
        return t + 0

    x = x0()
    t = Two(x, x, None)
    return times(C, f, (t,), (t,)), x.tolist()


@prog
def w_alias_input(C):
    def f(t, x):
        x.add_(1)
        return t * 1

    x = x0()
    t = Two(x, x * 2, None)
    return times(C, f, (t, x), (t, x)), sh(t)


@prog
def w_break(C):
    def f(t):
        u = t + 1
        brk()
        return u * t, u.extra

    return times(C, f, (two("z"),), (two("y"),))


@prog
def w_cat(C):
    return times(C, lambda t: (weft.cat([t, t]), weft.stack([t, t + 1])), (two(),))


@prog
def w_where(C):
    return times(C, lambda t: weft.where(t > 1, t, 0), (two(),))


@prog
def w_shape(C):
    return times(C, lambda t: (t.shape[0], t.numel(), t.dtype, t.stride(), len(t), t.is_contiguous()), (two(),))


@prog
def w_module(C):
    m = nn.Linear(3, 2, bias=False)
    nn.init.ones_(m.weight)
    return times(C, lambda t: m(t), (Two(weft.ones(1, 3), weft.zeros(1, 3), "k"),))


@prog
def w_returned_as_is(C):
    def f(t):
        return t, t.a, t.detach()

    t = two()
    return times(C, f, (t,)), C(lambda t: t)(t) is t


@prog
def w_dyn(C):
    return times(C, lambda t: t[:-1] * t.shape[0], *[(Two(weft.arange(float(n)), weft.ones(n), None),) for n in (3, 4, 5, 2)])


@prog
def w_closure(C):
    t = two("c")
    return times(C, lambda x: t + x, (x0(),), (x0(),))


@prog
def w_kwarg_none(C):
    return times(C, lambda t: (t.sum(dim=0, keepdim=True), weft.clamp(t, min=1), t.softmax(0)), (two(),))


@prog
def w_class_method(C):
    Two.twice = lambda s: s * 2
    try:
        return times(C, lambda t: t.twice() + 1, (two(),))
    finally:
        del Two.twice


class F1(weft.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        LOG.append(func.__name__)
        r = super().__torch_function__(func, types, args, kwargs)
        return r


LOG = []


@prog
def tf_log(C):
    LOG.clear()
    t = x0().as_subclass(F1)
    r = times(C, lambda t: (t + 1).relu().sum(), (t,), (t,))
    return (
        r,
        list(LOG),
    )


@prog
def tf_type(C):
    LOG.clear()
    t = x0().as_subclass(F1)
    return times(
        C, lambda t: (type(t + 1).__name__, type(t[0]).__name__, isinstance(t, F1), type(weft.add(x0(), t)).__name__), (t,)
    )
