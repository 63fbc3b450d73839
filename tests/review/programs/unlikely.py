"""Programs that change, between calls or inside of them, what tensors, modules and arrays are looked at for."""

import collections
import contextvars
import gc
import io
import logging
import operator
import re
import sys
import types
import warnings
import weakref

import numpy as np

import weft
from tests.review.harness import prog, told, x0
from weft import nn


@prog
def parameters_replaced(C):
    m = nn.Linear(4, 4)
    with weft.no_grad():
        m.weight.fill_(1.0)
        m.bias.fill_(0.5)
    c = C(m)
    out = [c(x0())]
    m.weight = nn.Parameter(weft.ones(2, 4))
    out.append(told(c, x0()))
    m.bias = nn.Parameter(weft.ones(2))
    out.append(c(x0()))
    m.bias = None
    out.append(c(x0()))
    m.weight.requires_grad_(False)
    out.append((c(x0()), c(x0()).requires_grad))
    m.weight.data = weft.full((2, 4), 3.0)
    out.append(c(x0()))
    m.double()
    out.append(c(x0().double()))
    m.register_parameter("bias", nn.Parameter(weft.zeros(2, dtype=weft.float64)))
    out.append(c(x0().double()).requires_grad)
    return out


@prog
def modules_in_containers_change(C):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([nn.ReLU(), nn.Identity()])
            self.named = nn.ModuleDict({"a": nn.Identity()})
            self.register_buffer("seen", weft.zeros(1), persistent=False)
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            self.seen += 1
            for p in self.parts:
                x = p(x)
            for k, p in self.named.items():
                x = p(x) + len(k)
            return x + self.seen, [n for n, _ in self.named_modules()], self.training, self.calls

    m = M()
    c = C(m)
    x = x0() - 2
    out = [c(x)]
    m.parts.append(nn.Tanh())
    out.append(c(x))
    m.named["bb"] = nn.Softplus()
    out.append(c(x))
    del m.parts[0]
    out.append(c(x))
    m.eval()
    out.append(c(x))
    m.seen = weft.full((1,), 10.0)
    out.append(c(x))
    m.parts[0] = nn.Dropout(0.5)
    out.append(c(x))
    m.parts[0].p = 0.0
    m.train()
    out.append(c(x))
    m.add_module("late", nn.Identity())
    out.append(c(x))
    return out, m.seen, m.calls


@prog
def hooks_come_and_go(C):
    m = nn.Sequential(nn.Identity(), nn.ReLU())
    log = []
    c = C(m)
    out = [c(x0())]
    h = m[0].register_forward_hook(lambda mod, args, r: r * 2)
    out.append(c(x0()))
    k = m.register_forward_pre_hook(lambda mod, args: (args[0] + 1,))
    out.append(c(x0()))
    n = m[1].register_forward_hook(lambda mod, args, kwargs, r: log.append(len(kwargs)), with_kwargs=True)
    out.append(c(x0()))
    h.remove()
    out.append(c(x0()))
    k.remove()
    n.remove()
    out.append(c(x0()))
    return out, log


@prog
def arguments_alias_in_turns(C):
    def f(a, b):
        a += 1
        b *= 2
        return a + b, a is b

    c = C(f)
    out = []
    for make in (lambda x: (x, x), lambda x: (x, x.clone()), lambda x: (x[:2], x[2:]), lambda x: (x[:3], x[1:]), lambda x: (x, x.view(4)), lambda x: (x, x)):
        x = x0()
        out.append((told(c, *make(x)), x))
    return out


@prog
def layouts_change(C):
    def f(x):
        return x.is_contiguous(), x.stride(), x.t().reshape(-1), x.storage_offset(), (x + 1).stride(), x.view(-1) if x.is_contiguous() else None

    c = C(f)
    b = weft.arange(24.0)
    return [
        c(b[:6].view(2, 3)), c(b[:6].view(3, 2).t()), c(b[6:12].view(2, 3)), c(b.view(4, 6)[:2, ::2]), c(b[:3].expand(2, 3)), c(b[:1].view(1, 1)),
        c(b[:0].view(0, 3)), c(b[:6].view(2, 3).contiguous()),
    ]  # fmt: skip


@prog
def dtypes_and_gradients_alternate(C):
    def f(x, k):
        y = x * k + 1
        return y, y.dtype, y.requires_grad, weft.is_grad_enabled(), weft.is_floating_point(x)

    c = C(f)
    out = []
    for dtype in (weft.float32, weft.int64, weft.float64, weft.bool, weft.bfloat16, weft.float32, weft.complex64):
        for k in (2, 2.0, True):
            out.append(told(c, weft.ones(2, dtype=dtype), k)[1:])
    for grad in (True, False):
        with weft.set_grad_enabled(grad):
            out.append(c(weft.ones(2, requires_grad=True), 3)[1:])
    with weft.inference_mode():
        out.append(c(weft.ones(2), 3)[1:])
    return out


@prog
def default_dtypes_change(C):
    c = C(lambda x: (weft.tensor(1.5) + x.int(), weft.ones(2), x.int() / 2, weft.arange(2.0).dtype, weft.get_default_dtype()))
    out = [c(x0())]
    try:
        weft.set_default_dtype(weft.float64)
        out.append(c(x0()))
    finally:
        weft.set_default_dtype(weft.float32)
    out.append(c(x0()))
    return out


@prog
def arrays_alternate(C):
    def f(x, a):
        return x + weft.from_numpy(a.astype(np.float32)) if a.ndim else x, a.sum(), a.dtype, a.shape, a.T.strides, a.flags.c_contiguous, (a > 1).tolist(), a[::-1].copy()

    c = C(f)
    base = np.arange(8)
    return [c(x0(), a) for a in (base[:4], base[::2], base[:4].astype(np.uint8), base[3::-1], base[:4].astype(float), base[:4] > 1, base[4:])]


@prog
def arrays_written_inside(C):
    def f(x, a, b):
        a[1:] += 2
        b[0] = a[1]
        a.sort()
        v = a.reshape(2, 2)
        v[0] *= 3
        return x * float(a.max()), a.copy(), v.tolist()

    c = C(f)
    out = []
    for make in (lambda: (np.arange(4), np.zeros(2)), lambda: (np.arange(4)[::-1].copy(), np.zeros(2, np.int8)), lambda: (np.arange(4.0),) * 2):
        a, b = make()
        out.append((c(x0(), a, b), a, b))
    return out


@prog
def ordered_dicts_with_attributes(C):
    def f(x, d):
        e = collections.OrderedDict(a=1)
        e.note = "n"
        e.note2 = d.note if hasattr(d, "note") else "none"
        e["b"] = x
        return e, e.note, vars(e), hasattr(e, "z"), told(getattr, e, "z"), d

    c = C(f)
    d = collections.OrderedDict(q=1)
    out = [c(x0(), d)]
    d.note = 4
    out.append(c(x0(), d))
    d.note = 5
    out.append(c(x0(), d))
    return [(o, o[0].note, vars(o[0])) for o in out]


@prog
def state_dicts_inside(C):
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))

    def f(x):
        s = m.state_dict()
        return x * len(s), list(s), sorted(s._metadata), s["0.bias"].shape

    c = C(f)
    return c(x0()), c(x0())


@prog
def weak_containers(C):
    class K:
        def __init__(self, n):
            self.n = n

        def __repr__(self):
            return f"K{self.n}"

    ks = [K(i) for i in range(3)]
    d, v, s = weakref.WeakKeyDictionary({ks[0]: 5}), weakref.WeakValueDictionary(a=ks[1]), weakref.WeakSet(ks[:2])

    def f(x, k):
        r = [k in d, d.get(k, 0), len(d), v.get("a") is k, "b" in v, k in s, len(s), sorted(map(repr, s))]
        d[k] = k.n + 1
        s.add(k)
        v[f"k{k.n}"] = k
        return x * d[k], r, sorted(v)

    c = C(f)
    out = [c(x0(), k) for k in ks]
    ks.pop()
    k = None
    gc.collect()  # what capture looked at may live until then
    out.append((len(d), len(s), sorted(v), c(x0(), ks[0])))
    return out


@prog
def default_dtype_set_inside(C):
    def f(x):
        a = weft.ones(1)
        weft.set_default_dtype(weft.float64)
        b = weft.ones(1)
        weft.set_default_dtype(weft.float32)
        return a, b, weft.ones(1), x

    c = C(f)
    return c(x0()), c(x0())


@prog
def storages_inside(C):
    def f(x):
        s = x.untyped_storage()
        return x + s.nbytes(), s.nbytes(), x.view(2, 2).untyped_storage().data_ptr() == s.data_ptr(), len(s), x[1:].untyped_storage().size()

    c = C(f)
    return c(x0()), c(weft.arange(8.0)[4:])


@prog
def tensor_hooks_inside(C):
    seen = []

    def f(x, k):
        y = x * k
        y.register_hook(lambda g: g * 3)
        h = x.register_hook(lambda g: seen.append(g.sum()))
        z = (y * y).sum()
        z.backward()
        h.remove()
        return z, x.grad, y.grad_fn is None

    c = C(f)
    out = []
    for k in (2, 3):
        x = weft.ones(3, requires_grad=True)
        out.append(c(x, k))
    return out, seen


@prog
def class_statements(C):
    def f(x, n):
        class A:
            k = n
            names = [i for i in range(n)]

            def go(self, y):
                return y * self.k

            @staticmethod
            def s():
                return __class__.__name__ if n > 9 else "s"

            @property
            def p(self):
                return self.k + 1

        class B(A):
            def go(self, y):
                return super().go(y) + 1

        return B().go(x), A.names, B().p, A.s(), B.__mro__[1] is A, A.__qualname__

    c = C(f)
    return [c(x0(), n) for n in (1, 2, 1)]


@prog
def context_variables(C):
    var = contextvars.ContextVar("v", default=1)

    def f(x):
        t = var.set(var.get() + 1)
        y = x * var.get()
        var.reset(t)
        return y, var.get()

    def g(x):
        var.set(10)
        return x

    c, d = C(f), C(g)
    out = [c(x0())]
    var.set(5)
    out.append(c(x0()))
    contextvars.copy_context().run(d, x0())
    out.append(c(x0()))
    d(x0())
    out.append(c(x0()))
    return out


@prog
def output_inside(C):
    def f(x, n, file):
        print("a", n, sep="-", end="!\n")
        print("to file", n, file=file)
        sys.stdout.write("w\n")
        warnings.warn(f"careful {n}", stacklevel=2)
        logging.getLogger("unlikely").warning("logged %d", n)
        return x * n

    c = C(f)
    file = io.StringIO()
    return [c(x0(), n, file) for n in (1, 2, 1)], file.getvalue()


@prog
def regular_expressions(C):
    pattern = re.compile(r"(\w)(?P<n>\d+)")

    def f(x, s):
        m = pattern.match(s)
        return x, m and m.group("n"), m and m.groups(), pattern.sub("_", s), re.split(r"\d", s), [t.group() for t in pattern.finditer(s)], bool(re.search("b", s))

    c = C(f)
    return [c(x0(), s) for s in ("a12b3", "zz", "a12b3")]


@prog
def frames_of_recursion(C):
    def f(x, n):
        return x if n == 0 else f(x + n, n - 1) * 2

    def even(x, n):
        return x if n == 0 else odd(x + 1, n - 1)

    def odd(x, n):
        return -x if n == 0 else even(x * 2, n - 1)

    c, d = C(f), C(even)
    return [c(x0(), n) for n in (0, 3, 5)], [d(x0(), n) for n in (3, 4)]


@prog
def arguments_of_all_kinds(C):
    def f(x, /, a, b=2, *args, k, z=(1,), **kwargs):
        return x * a, b, args, k, z, sorted(kwargs.items()), locals().keys() - {"x"}

    c = C(f)
    x = x0()
    tries = [
        lambda: c(x, 1, k=1), lambda: c(x, 1, 2, 3, 4, k=5, q=6, x=7), lambda: c(x), lambda: c(x, 1), lambda: c(x, 1, k=1, b=3), lambda: c(x, 1, 2, b=3, k=4),
        lambda: c(*[x, 1], **{"k": 3}), lambda: c(a=1, k=2), lambda: c(x, 1, k=1, z=[2]), lambda: c(x, k=1, a=True),
    ]  # fmt: skip
    return [told(t) for t in tries]


@prog
def defaults_that_are_kept(C):
    def f(x, acc=[], *, d={"n": 0}):
        acc.append(len(acc))
        d["n"] += 1
        return x * d["n"], list(acc)

    c = C(f)
    out = [c(x0()), c(x0()), c(x0(), [5])]
    f.__defaults__ = ([9],)
    out.append(c(x0()))
    f.__kwdefaults__ = {"d": {"n": 10}}
    out.append(c(x0()))
    return out


@prog
def sizes_that_change(C):
    def f(x):
        n, m = x.shape
        y = x.view(m, n) if n * m % 2 else x.repeat(2, 1)
        return y.shape, x.numel() // 2, y.sum(0), [i for i in range(n)], x.new_zeros(n + 1, m).shape, n == m, max(n, 3), f"{n}x{m}", {n: m}[n], x.shape[-1:] + (1,)

    c = C(f)
    return [c(weft.ones(n, m)) for n, m in ((2, 3), (3, 3), (1, 3), (0, 3), (5, 7), (7, 5), (2, 3))]


@prog
def subclasses_of_numbers(C):
    class I(int):
        def __add__(self, o):
            return "added"

    class F(float):
        unit = "m"

    class S(str):
        def upper(self):
            return "UP"

    def f(x, i, v, s):
        return x * int(i), i + 1, 1 + i, i * 2, type(i * 2).__name__, v + 1, v.unit, s.upper(), s + "b", f"{s}", isinstance(i, int), {s: 1}["a"], x.shape[i - 1]

    c = C(f)
    return [c(x0(), I(1), F(2), S("a")), c(x0(), I(1), F(2.5), S("a"))]


@prog
def deletions(C):
    def f(x, o, d, l, n):
        del o.a, d["k"], l[0], l[-1:]
        y = x + 1
        del x
        r = told(lambda: x)
        if n:
            del y
        try:
            return r, y, told(getattr, o, "a"), d, l
        except UnboundLocalError as e:
            return str(e), e.name if hasattr(e, "name") else None

    c = C(f)
    return [(c(x0(), o := types.SimpleNamespace(a=1, b=2), d := {"k": 1, "j": 2}, l := [1, 2, 3], n), vars(o), d, l) for n in (0, 1, 0)]


@prog
def comparisons_chain(C):
    log = []

    def note(v):
        log.append(v)
        return v

    def f(x, a, b):
        log.clear()
        r = [
            1 < note(a) < note(b), note(a) == note(b) != 3, a in (b, 1) is not None, not a < b, (a or note(0)) and note(b), a is b is None,
            0 if a else 1 if b else 2, (lambda: (yield))().__class__.__name__, [*map(operator.not_, (a, b))], (y := a + b) + y,
        ]  # fmt: skip
        return x * y, r, list(log)

    c = C(f)
    return [c(x0(), a, b) for a, b in ((2, 3), (0, 0), (5, 1), (2, 3))]
