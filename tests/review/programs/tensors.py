"""Tensors and arrays that are resized, retyped, aliased and written between two calls; modes that are switched."""

import numpy as np

import weft
import weft.nn as nn
from tests.review.harness import brk, prog, times, told_whole, x0


def lin():
    weft.manual_seed(0)
    return nn.Linear(4, 4)


@prog
def resized_between(C):
    t = x0()
    c = C(lambda x: x + t.sum() + t.shape[0])
    r = [c(x0())]
    t.resize_(2)
    r.append(c(x0()))
    t.resize_(6).fill_(1)
    r.append(c(x0()))
    return r


@prog
def set_data_dtype(C):
    t = x0()
    c = C(lambda x: (x + t, t.dtype, t.shape, t.stride(), t.is_contiguous()))
    r = [c(x0())]
    t.data = weft.arange(4, dtype=weft.float64)
    r.append(c(x0()))
    t.data = weft.arange(8.0)[::2]
    r.append(c(x0()))
    t.data = weft.arange(4.0).reshape(4, 1)
    r.append(c(x0()))
    return r


@prog
def arg_alias_inplace(C):
    def f(a, b):
        a.add_(1)
        return b * 2

    c = C(f)
    t = x0()
    u = x0()
    r = [c(t, u)]
    r.append(c(t, t))
    r.append(c(t, t[1:]))
    r.append(c(t[:2], t))
    r.append(c(t.view(2, 2), t))
    r.append(c(t, t.detach()))
    return r, t


@prog
def view_then_inplace(C):
    def f(a):
        v = a[1:]
        w = a.view(2, 2)
        v.mul_(2)
        a.add_(1)
        w[0, 0] = 7
        return a, v, w

    c = C(f)
    t = x0()
    r = [c(t)]
    a, v, w = r[0]
    v.add_(100)
    return r, t, c(t)


@prog
def returns_arg_identity(C):
    def f(a, b):
        return a, [b, a], {"k": b}, a.view(4), a.detach(), a[:], a.t() if a.dim() == 2 else a.reshape(-1)

    c = C(f)
    a, b = x0(), x0()
    out = []
    for _ in range(2):
        r = c(a, b)
        out.append((r[0] is a, r[1][0] is b, r[1][1] is a, r[2]["k"] is b, r[3] is a, r[4] is a, r[5] is a, r[6] is a))
        r[3].add_(1)
        r[4].add_(1)
        r[5].add_(1)
    return out, a


@prog
def requires_grad_toggle(C):
    t = x0()
    c = C(lambda x: x * t)
    out = []
    for g in (False, True, False, True):
        t.requires_grad_(g)
        r = c(x0())
        out.append((r.requires_grad, r.grad_fn is None, r.is_leaf))
        if g:
            r.sum().backward()
            out.append(t.grad.tolist())
            t.grad = None
    return out


@prog
def no_grad_switch(C):
    t = x0().requires_grad_(True)
    c = C(lambda x: x * t)
    out = [c(x0()).requires_grad]
    with weft.no_grad():
        out.append(c(x0()).requires_grad)
    with weft.inference_mode():
        r = c(x0())
        out.append((r.requires_grad, r.is_inference()))
    with weft.enable_grad():
        out.append(c(x0()).requires_grad)
    weft.set_grad_enabled(False)
    out.append(c(x0()).requires_grad)
    weft.set_grad_enabled(True)
    return out


@prog
def default_dtype_switch(C):
    c = C(lambda n: (weft.zeros(2) + n, weft.tensor(1.5), weft.arange(2.0), weft.linspace(0, 1, 3), weft.tensor([1, 2]) / 2))
    r = [c(1)]
    weft.set_default_dtype(weft.float64)
    try:
        r.append(c(1))
    finally:
        weft.set_default_dtype(weft.float32)
    r.append(c(1))
    return r


@prog
def autocast_switch(C):
    a, b = weft.ones(4, 4), weft.ones(4, 4)
    c = C(lambda a, b: a @ b)
    r = [c(a, b).dtype]
    with weft.autocast("cpu", dtype=weft.bfloat16):
        r.append(c(a, b).dtype)
    r.append(c(a, b).dtype)
    with weft.autocast("cpu", enabled=False):
        r.append(c(a, b).dtype)
    return r


@prog
def grad_mode_inside(C):
    t = x0().requires_grad_(True)

    def f(x):
        with weft.no_grad():
            a = x * t
            brk()
            b = a * t
        c = b * t
        weft.set_grad_enabled(False)
        d = c * t
        brk()
        e = weft.is_grad_enabled()
        weft.set_grad_enabled(True)
        return a.requires_grad, b.requires_grad, c.requires_grad, d.requires_grad, e

    return times(C, f, (x0(),), (x0(),)), weft.is_grad_enabled()


@prog
def grad_mode_exception(C):
    def f(x, n):
        weft.set_grad_enabled(False)
        brk()
        if n:
            raise ValueError("n")
        weft.set_grad_enabled(True)
        return x

    c = C(f)
    out = []
    for n in (0, 1, 0, 1):
        out.append(told_whole(c, x0(), n))
        out.append(weft.is_grad_enabled())
        weft.set_grad_enabled(True)
    return out


@prog
def tensor_hooks(C):
    log = []

    def f(x, t):
        y = t * 2
        y.register_hook(lambda g: log.append(g.tolist()) or g * 10)
        return (y * x).sum()

    c = C(f)
    out = []
    for _ in range(2):
        t = x0().requires_grad_(True)
        c(x0(), t).backward()
        out.append(t.grad)
    return out, log


@prog
def leaf_hook_between(C):
    t = x0().requires_grad_(True)
    c = C(lambda x: (x * t).sum())
    out = []
    c(x0()).backward()
    out.append(t.grad.clone())
    t.grad = None
    h = t.register_hook(lambda g: g * 5)
    c(x0()).backward()
    out.append(t.grad.clone())
    t.grad = None
    h.remove()
    c(x0()).backward()
    out.append(t.grad.clone())
    return out


@prog
def tensor_subclass_swap(C):
    class S(weft.Tensor):
        def double(self):
            return self * 2

    p = nn.Parameter(x0())

    def f(t):
        return type(t).__name__, t * 2, isinstance(t, nn.Parameter)

    c = C(f)
    return c(x0()), c(p), c(x0().as_subclass(S)), c(x0()), c(weft.ones(2, dtype=weft.int64))


@prog
def tensor_truthiness_sizes(C):
    def f(t):
        try:
            return bool(t), len(t), t.numel(), float(t.sum())
        except Exception as e:
            return type(e).__name__, str(e)

    return times(
        C,
        f,
        (weft.ones(1),),
        (weft.zeros(1),),
        (weft.ones(2),),
        (weft.ones(0),),
        (weft.tensor(3.0),),
        (weft.tensor(True),),
        (weft.ones(1, 1),),
    )


@prog
def tensor_item_int_index(C):
    def f(x, i):
        return (
            x[int(i)],
            [1, 2, 3][i],
            x[i:],
            range(i),
            float(i) * 2,
            "%d" % i,
            f"{i}",
            f"{i:>4}",
            {int(i): 1},
            str(i),
            repr(i),
            hash(i) == hash(i),
            i in [1, 2],
            i == 1,
            divmod(int(i), 2),
        )

    return times(C, f, (x0(), weft.tensor(1)), (x0(), weft.tensor(2)), (x0(), weft.tensor(0)))


@prog
def inplace_leaf_error(C):
    t = x0().requires_grad_(True)

    def f(x):
        try:
            t.add_(1)
        except RuntimeError as e:
            return str(e)[:60]
        return x

    return times(C, f, (x0(),), (x0(),)), t.detach()


@prog
def out_argument(C):
    def f(x, o):
        return weft.add(x, 1, out=o), weft.sum(x, 0, out=o[:1])

    c = C(f)
    o = weft.zeros(4)
    r = c(x0(), o)
    s = c(x0(), o)
    return r, r[0] is o, s, o


@prog
def dtype_device_args(C):
    def f(x, dt):
        return x.to(dt), weft.zeros(2, dtype=dt), x.dtype == dt, str(dt), dt.is_floating_point

    return times(C, f, (x0(), weft.float64), (x0(), weft.int32), (x0(), weft.float32), (x0(), weft.bool), (x0(), weft.float64))


@prog
def size_types(C):
    def f(x):
        return (
            x.shape,
            type(x.shape).__name__,
            tuple(x.shape),
            x.shape + (1,),
            x.shape[:1],
            x.shape == (4,),
            list(x.shape),
            x.size(),
            x.shape.numel(),
            hash(x.shape),
            repr(x.shape),
            x.shape * 2,
            4 in x.shape,
            isinstance(x.shape, tuple),
        )

    return times(C, f, (x0(),), (weft.ones(2, 3),), (weft.ones(5),), (weft.ones(7),), (weft.ones(()),))


@prog
def dynamic_sizes(C):
    def f(x):
        n = x.shape[0]
        if n > 5:
            x = x[:5]
        return (
            x * n,
            n // 2,
            n % 3,
            n**2,
            n / 4,
            str(n),
            [0] * n if n < 4 else None,
            x.reshape(-1, 1) if n else x,
            weft.arange(n),
            n == 1,
            -n // 2,
            divmod(n, 4),
            n << 1,
            n & 3,
            float(n),
            round(n / 3, 2),
            max(n, 3),
            range(n)[-1:],
            bool(n),
            {n: 1},
        )

    return times(C, f, *((weft.arange(float(n)),) for n in (4, 5, 6, 7, 1, 0, 2, 3, 9)))


@prog
def noncontiguous_variants(C):
    def f(x):
        return x.view(-1) if x.is_contiguous() else x.reshape(-1), x.stride(), x.storage_offset(), x.sum(0)

    b = weft.arange(24.0)
    return times(
        C,
        f,
        (b.view(4, 6),),
        (b.view(6, 4).t(),),
        (b.view(4, 6)[:, ::2],),
        (b.view(4, 6)[1:],),
        (b[:6].expand(4, 6),),
        (b.view(4, 6)[:, :1],),
        (b.view(1, 24),),
    )


@prog
def grad_attr(C):
    t = x0().requires_grad_(True)

    def f(x):
        return x + (t.grad if t.grad is not None else 100)

    c = C(f)
    r = [c(x0())]
    t.grad = x0()
    r.append(c(x0()))
    t.grad.add_(1)
    r.append(c(x0()))
    t.grad = None
    r.append(c(x0()))
    return r


@prog
def numpy_flags(C):
    def f(a):
        return a * 2, a.flags.c_contiguous, a.flags.writeable, a.strides, a.dtype, a.T, a.ndim

    a = np.arange(6.0).reshape(2, 3)
    ro = a.copy()
    ro.flags.writeable = False
    return times(
        C,
        f,
        (a,),
        (np.asfortranarray(a),),
        (a[:, ::-1],),
        (ro,),
        (a[::2],),
        (a.astype(">f8"),),
        (a.astype(np.float32),),
        (np.array(3.0),),
        (a[:, :0],),
    )


@prog
def numpy_write(C):
    def f(a, b):
        a[0] = 5
        a += 1
        b[...] = a.sum()
        return a, b

    c = C(f)
    a = np.arange(4.0)
    b = np.zeros(4)
    r = [told_whole(c, a, b), told_whole(c, a, a), told_whole(c, a, a[1:]), told_whole(c, a[::-1], a)]
    ro = a.copy()
    ro.flags.writeable = False
    r.append(told_whole(c, ro, b))
    r.append(told_whole(c, a.astype(int), b))
    r.append(told_whole(c, a, b.astype(np.float32)))
    return r, a, b, ro


@prog
def numpy_object(C):
    def f(a):
        return a + 1, a.dtype, a[0]

    return times(
        C,
        f,
        (np.array([1, 2.5, None][:2], dtype=object),),
        (np.array(["a", "b"]),)[:1] if False else (np.array([1, 2]),),
        (np.array([1 + 2j]),),
        (np.array([True, False]),),
        (np.array(["2020-01-01"], dtype="M8[D]"),),
        (np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])["a"],),
        (np.ma.array([1, 2], mask=[0, 1]),),
        (np.matrix([[1, 2]]),),
    )


@prog
def numpy_scalars(C):
    def f(x, s):
        return x * s, s + 1, s * 1.5, type(s + 1).__name__, s == 2, int(s), float(s), s / 3, -s, s**2, str(s), s.dtype, s.item()

    return times(
        C,
        f,
        *(
            (x0(), s)
            for s in (
                np.float64(2),
                np.float32(2),
                np.int32(2),
                np.uint8(250),
                np.bool_(True),
                np.int64(3),
                np.float16(1.5),
                np.float64(2.5),
            )
        ),
    )


@prog
def numpy_identity(C):
    def f(a, b):
        return a, [a, b], a.view(), a[:], np.asarray(a), a.base is None

    c = C(f)
    a = np.arange(3.0)
    b = np.arange(3.0)
    out = []
    for _ in range(2):
        r = c(a, b)
        out.append((r[0] is a, r[1][0] is a, r[1][1] is b, r[2] is a, r[4] is a, r[2].base is a, np.shares_memory(r[3], a), r[5]))
    return out
