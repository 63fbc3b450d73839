"""Tensors and arrays that share memory, change their layout, dtype or history between calls, and what is written into them."""

import copy
import pickle

import numpy as np

import weft
from tests.review.harness import prog, told, x0


@prog
def arguments_that_overlap(C):
    def f(a, b):
        a += 1
        b *= 2
        return a + b, a.sum()

    c = C(f)
    r = []
    for make in (
        lambda t: (t, t), lambda t: (t[1:], t[:-1]), lambda t: (t[:2], t[2:]), lambda t: (t, t.view(4)), lambda t: (t, x0()), lambda t: (t[::2], t[1::2]),
    ):  # fmt: skip
        t = x0()
        r.append((told(c, *make(t)), t))
    return r


@prog
def view_of_an_argument_written_after(C):
    def f(x):
        v = x[1:3]
        w = x.view(2, 2)
        x[1] = 50
        v += 1
        w[1] *= 3
        return v, w, x.clone(), v._base is x, w.data_ptr() == x.data_ptr()

    c = C(f)
    return c(x0()), c(x0())


@prog
def results_share_memory_with_arguments(C):
    def f(x):
        return x, x.t(), x.reshape(-1), x.detach(), x[0], x.contiguous(), x.to(x.dtype), x.expand(2, *x.shape)

    c = C(f)
    r = []
    for x in (weft.ones(2, 3), weft.ones(3, 2).t(), weft.ones(2, 3).double()):
        out = c(x)
        x.mul_(7)
        r.append([o.clone() for o in out] + [out[0] is x, out[5] is x, out[6] is x])
        out[1].add_(1)
        r.append(x.clone())
    return r


@prog
def list_of_views_of_one_tensor(C):
    def f(l):
        for i, t in enumerate(l):
            t += i
        return sum(t.sum() for t in l)

    c = C(f)
    r = []
    for n in (2, 3):
        t = weft.zeros(6)
        r.append((c(list(t.split(n))), t))
        t = weft.zeros(6)
        r.append((c([t, t[2:], t]), t))
    return r


@prog
def strides_change_between_calls(C):
    c = C(lambda x: ((x * 2).stride(), x.contiguous().stride(), x.is_contiguous(), (x + x.mT).sum(), x.flatten().clone()))
    a = weft.arange(9.0).view(3, 3)
    return [
        c(t)
        for t in (
            a,
            a.t(),
            a.flip(0),
            weft.arange(18.0).view(3, 6)[:, ::2],
            a.expand(3, 3),
            weft.as_strided(a, (3, 3), (1, 1)),
            a[:1].expand(3, 3),
        )
    ]


@prog
def sizes_zero_and_one(C):
    def f(x):
        y = x * 2
        return (
            y, y.sum(0), y.mean(-1) if x.shape[-1] else None, told(lambda: y.max(0).values), y.reshape(-1, max(1, x.shape[0])).shape, weft.cat([y, y], 0),
            y.cumsum(0), y.softmax(-1), told(lambda: y.argmin(0)), y.prod(), y.all(), y.any(), y.norm(), y @ y.mT, y.unbind(0) == (),
        )  # fmt: skip

    c = C(f)
    return [c(weft.ones(*s)) for s in ((2, 3), (1, 3), (0, 3), (3, 0), (1, 1), (0, 0), (4, 1))]


@prog
def dtypes_change_between_calls(C):
    def f(x):
        return (
            x + 1,
            x / 2,
            x // 2,
            x * 1.5,
            x.sum(),
            x.mean() if x.is_floating_point() else None,
            x > 1,
            -x if x.dtype != weft.bool else ~x,
            (x + x).dtype,
        )

    c = C(f)
    return [
        told(c, x0().to(d))
        for d in (weft.float32, weft.float64, weft.int64, weft.int32, weft.uint8, weft.bool, weft.float16, weft.bfloat16)
    ]


@prog
def grads_accumulate_between_calls(C):
    w = weft.ones(3, requires_grad=True)

    def f(x):
        y = (w * x).sum()
        y.backward()
        return y.detach(), w.grad is not None

    c = C(f)
    r = [c(weft.ones(3)), w.grad.clone(), c(weft.ones(3) * 2), w.grad.clone()]
    w.grad = None
    r += [c(weft.ones(3)), w.grad.clone()]
    w.grad.zero_()
    held = w.grad
    r += [c(weft.ones(3)), held is w.grad, held.clone()]
    return r


@prog
def data_and_detach_written(C):
    def f(x):
        y = x * 2
        d = y.detach()
        d += 1
        z = y * 3
        x.data.mul_(2)
        return y, z, d, x._version if x.requires_grad else None

    c = C(f)
    r = []
    for _ in range(2):
        x = x0().requires_grad_()
        y, z, d, version = c(x)
        z.sum().backward()
        r.append((y, z, d, version, x, x.grad))
    return r


@prog
def leaves_and_histories(C):
    def f(x, w):
        y = x * w
        return (
            y,
            y.is_leaf,
            y.requires_grad,
            x.is_leaf,
            w.grad_fn is None,
            type(y.grad_fn).__name__ != "",
            y.detach().is_leaf,
            y.retains_grad,
        )

    c = C(f)
    r = []
    for a, b in ((False, False), (True, False), (False, True), (True, True)):
        x, w = x0().requires_grad_(a), x0().requires_grad_(b)
        r.append(c(x, w)[1:])
        r.append(c(x * 1, w * 1)[1:])
    return r


@prog
def inplace_errors(C):
    w = weft.ones(3, requires_grad=True)

    def f(x):
        out = []
        for g in (lambda: w.add_(1), lambda: x.expand(2, 3).add_(1), lambda: x.add_(weft.ones(5)), lambda: x.div_(2) if x.is_floating_point() else x.div_(2),
                  lambda: x.long().add_(1.5), lambda: x.unsqueeze_(0).shape, lambda: x.squeeze_(0).shape, lambda: x.bool().sub_(x.bool())):  # fmt: skip
            out.append(told(g))
        return out, x

    c = C(f)
    return c(weft.ones(3)), c(weft.ones(3))


@prog
def tensors_as_keys_and_members(C):
    def f(x, y):
        d = {x: 1, y: 2}
        d[x] += 5
        return (
            d[x],
            d[y],
            len(d),
            x in d,
            [t is x for t in d],
            x in [x],
            {x, y, x} == {y, x},
            (x, y).index(x),
            id(x) == id(x),
            hash(x) == hash(x),
        )

    c = C(f)
    a, b = x0(), x0() + 1
    return c(a, b), c(a, a), c(b, a)


@prog
def attributes_on_tensors(C):
    def f(x):
        x.note = getattr(x, "note", 0) + 1
        y = x + x.note
        y.tag = "t"
        return y, y.tag, hasattr(y, "note"), vars(x)

    c = C(f)
    x = x0()
    a, b = c(x), c(x)
    return a, b, a[0].tag, x.note, hasattr(b[0], "note")


@prog
def copies_of_tensors(C):
    def f(x):
        p = x.clone()
        q = copy.copy(x)
        s = copy.deepcopy(x)
        x += 1
        return p, q, s, q.data_ptr() == x.data_ptr(), s.requires_grad, pickle.loads(pickle.dumps(p))

    c = C(f)
    return c(x0()), c(x0())


@prog
def out_arguments(C):
    def f(a, o):
        r = weft.add(a, 1, out=o)
        weft.mul(a, 2, out=o[:2])
        return r is o, o.clone()

    c = C(f)
    r = []
    for o in (weft.zeros(4), weft.zeros(8)[::2], weft.zeros(4, dtype=weft.float64)):
        r.append((told(c, x0(), o), o))
    a = x0()
    r.append((told(c, a, a), a))
    return r


@prog
def numpy_aliases(C):
    def f(a):
        b = a[1:]
        b += 1
        d = a.reshape(2, 2)
        d[0, 0] = 9
        e = np.asarray(a)
        e[-1] = 7
        return a, b, d, e is a, d.base is a, b.flags.owndata, a.flags.writeable

    c = C(f)
    r = []
    for a in (np.arange(4.0), np.arange(4), np.arange(4, dtype=np.float32), np.arange(8.0)[::2]):
        r.append((c(a), a))
    return r


@prog
def numpy_casts_and_overflow(C):
    def f(a):
        out = []
        for g in (lambda: a + 1, lambda: a * a, lambda: a + 1.5, lambda: a / 2, lambda: a // 2, lambda: -a, lambda: a << 1, lambda: a.sum(), lambda: a.mean(),
                  lambda: a.astype(np.int8), lambda: np.add(a, 1, dtype=np.float32), lambda: a == 255, lambda: a > -1, lambda: np.where(a > 1, a, 0.5),
                  lambda: a % 3, lambda: np.power(a, 2), lambda: a.prod(), lambda: np.maximum(a, 1.5), lambda: a.cumsum(), lambda: a[0] + 1, lambda: a.max() * 2):  # fmt: skip
            out.append(told(g))
        return out

    c = C(f)
    with np.errstate(all="ignore"):
        return [c(np.array([0, 1, 100, 127], dtype=d)) for d in ("u1", "i1", "i2", "i8", "f2", "f4", "f8", "?", "u8")]


@prog
def numpy_out_and_inplace_errors(C):
    def f(a, o):
        out = []
        for g in (lambda: np.add(a, 1, out=o), lambda: np.multiply(a, 1.5, out=o, casting="unsafe"), lambda: o.__iadd__(1.5), lambda: np.sqrt(a, out=o),
                  lambda: np.copyto(o, a), lambda: np.clip(a, 0, 1, out=o), lambda: a.sum(out=o[0, ...]), lambda: np.dot(a, a, out=o)):  # fmt: skip
            out.append(told(g))
        return out, o

    c = C(f)
    return [c(np.arange(3.0), np.zeros(3, d)) for d in ("f8", "f4", "i8")]


@prog
def numpy_scalars_are_what_they_are(C):
    def f(a, k):
        s = a[1]
        t = a.sum()
        return (
            s + k,
            type(s + k).__name__,
            type(t).__name__,
            s * 2,
            t / 3,
            s == k,
            isinstance(s, float),
            isinstance(s, np.floating),
            s.dtype,
            f"{s:.1f}",
            repr(t),
            int(s),
            hash(s) == hash(float(s)),
            k * s,
            divmod(t, 2),
            round(s, 1),
            -s,
            s**2,
            bool(s),
            [10, 20, 30][int(s)],
        )

    c = C(f)
    return [told(c, np.arange(3, dtype=d), k) for d in ("f8", "f4") for k in (1, 2.5, np.float32(2), np.int64(3), True)]


@prog
def numpy_structured_and_objects(C):
    def f(a, o):
        return a["x"] + 1, a[0]["y"], a.dtype.names, o[0], o.shape, o + 1

    c = C(f)
    a = np.array([(1, 2.0), (3, 4.0)], dtype=[("x", "i4"), ("y", "f8")])
    return told(c, a, np.array([1, 2.5], dtype=object)), told(c, a, np.array([3, 4], dtype=object))


@prog
def numpy_errstate(C):
    def f(a, b):
        with np.errstate(divide="raise", invalid="ignore"):
            try:
                return a / b
            except FloatingPointError as e:
                return str(e)

    c = C(f)
    with np.errstate(all="ignore"):
        return [c(np.array([1.0, 0.0]), np.array(b)) for b in ([1.0, 2.0], [0.0, 1.0], [1.0, 0.0])]


@prog
def read_only_and_foreign_arrays(C):
    def f(a):
        b = a + 1
        try:
            a[0] = 5
        except ValueError as e:
            return b, str(e)
        return b, a

    c = C(f)
    a = np.arange(3.0)
    a.flags.writeable = False
    return (
        c(a),
        c(np.arange(3.0)),
        c(np.broadcast_to(np.float64(2), (3,))),
        c(np.frombuffer(b"\0" * 24)),
        c(np.arange(3.0, dtype=">f8")),
    )


@prog
def tensors_and_arrays_share(C):
    def f(x):
        a = x.numpy()
        a[0] = 9
        t = weft.from_numpy(a)
        t[1] = 8
        u = weft.tensor(a)
        u[2] = 7
        return x, a, t, u, weft.as_tensor(a).data_ptr() == x.data_ptr()

    c = C(f)
    x = x0()
    return c(x), c(x0()), x


@prog
def views_through_numbers_and_masks(C):
    def f(x, i, m):
        y = x[i]
        y += 10
        z = x[m]
        z += 100
        x[m] = 0
        x[[0, -1]] += 1
        x[..., None][1] = 5
        return x, y, z

    c = C(f)
    return [c(x0(), i, x0() > k) for i, k in ((0, 1), (-1, 2), (2, 0), (slice(1, 3), 1), (weft.tensor(1), 1), (True, 1), (None, 2))]


@prog
def resize_and_set_between(C):
    t = weft.arange(6.0)
    c = C(lambda: (t.sum(), t.shape, t.stride(), t * 1))
    r = [c()]
    t.resize_(2, 2)
    r.append(c())
    t.set_(weft.ones(3, 2))
    r.append(c())
    t.t_()
    r.append(c())
    t.unsqueeze_(0)
    r.append(c())
    t.requires_grad_()
    r.append(c()[:3])
    return r


@prog
def scalars_from_tensors_decide(C):
    def f(x):
        n = int(x[0])
        k = x.sum().item()
        if k > 5:
            return x[:n] * k
        return [x * i for i in range(n)]

    c = C(f)
    return [c(weft.tensor(v)) for v in ([1.0, 2.0], [2.0, 9.0], [0.0, 0.0], [2.0, float("nan")], [1.0, -3.0])]


@prog
def complex_and_quantities(C):
    def f(z):
        return (
            z * 1j,
            z.real,
            z.imag,
            z.abs(),
            z.conj(),
            z.angle(),
            weft.view_as_real(z),
            told(lambda: z > 1),
            z == z,
            z.sum(),
            (z * z.conj()).real,
            z + 1,
        )

    c = C(f)
    return c(weft.tensor([1 + 2j, -1j])), c(weft.tensor([0j, 3 - 1j])), told(c, x0())
