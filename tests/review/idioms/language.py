"""Statements, classes, generators, context managers."""

import collections
import contextlib
import contextvars
import dataclasses
import io
import sys

from tests.review.harness import idiom

try:
    import pandas as pd
except ImportError:
    pd = None

G = 0
L = []
CV = contextvars.ContextVar("cv", default=1)


@idiom
def df_query(x):
    thr = 1
    df = pd.DataFrame({"a": [1, 2, 3]})
    return df.query("a > @thr")["a"].tolist(), x + 1


@idiom
def df_eval(x):
    b = 2
    df = pd.DataFrame({"a": [1, 2, 3]})
    return df.eval("a*@b").tolist(), x + 1


@idiom
def exec_ns(x):
    ns = {}
    exec("y=1+1", ns)
    return ns["y"], x + 1


@idiom
def eval_local(x):
    y = 3
    return eval("y+1"), x + 1


@idiom
def frame_locals(x):
    y = 3
    return sorted(k for k in sys._getframe().f_locals), x + 1


@idiom
def fmt_locals(x):
    a = 1
    return "{a}".format(**locals()), x + 1


@idiom
def pct_locals(x):
    a = 1
    return "%(a)d" % locals(), x + 1


@idiom
def vars_(x):
    a = 1
    return vars()["a"], x + 1


@idiom
def locals_after(x):
    y = x + 1
    print("hi")
    return sorted(locals())


@idiom
def namedtuple_in(x):
    P = collections.namedtuple("P", "a b")
    p = P(x, 2)
    return p.a * p.b


@idiom
def dataclass_in(x):
    @dataclasses.dataclass
    class D:
        a: object
        b: int = 2

    d = D(x)
    return d.a * d.b


@idiom
def class_in(x):
    class A:
        k = 3

        def f(self, y):
            return y * self.k

    return A().f(x)


@idiom
def match_(x):
    match x.shape:
        case (3,):
            r = 1
        case _:
            r = 2
    return x * r


@idiom
def match_map(x):
    match {"op": "mul", "v": 3}:
        case {"op": "add"}:
            return x
        case {"op": "mul", "v": v}:
            return x * v


@idiom
def walrus(x):
    return [y := x + 1, y * 2]


@idiom
def nonlocal_(x):
    c = 0

    def inc():
        nonlocal c
        c += 1
        return c

    inc()
    inc()
    return x * c


@idiom
def global_(x):
    global G
    G += 1
    return x * G


@idiom
def append_global(x):
    L.append(len(L))
    return x * len(L)


@idiom
def late_binding(x):
    fs = [lambda: i for i in range(3)]
    return x * sum(f() for f in fs)


@idiom
def del_(x):
    y = x + 1
    del x
    return y


@idiom
def star(x, *a, k=2, **kw):
    return x * k * (len(a) + 1 + len(kw))


@idiom
def kwonly_inner(x):
    def f(a, /, b, *, c=3):
        return a * b * c

    return f(x, 2, c=4)


@idiom
def try_fin(x):
    r = []
    try:
        r.append(1)
        return x, r
    finally:
        r.append(2)


@idiom
def try_ret_override(x):
    try:
        return x
    finally:
        return x + 1


@idiom
def raise_from(x):
    try:
        try:
            raise KeyError("a")
        except KeyError as e:
            raise ValueError("b") from e
    except ValueError as e:
        return repr(e.__cause__), x + 1


@idiom
def exc_group(x):
    r = []
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as e:
        r.append(len(e.exceptions))
    except* TypeError as e:
        r.append("t")
    return r, x + 1


@idiom
def gen_send(x):
    def g():
        y = yield 1
        while True:
            y = yield y * 2

    a = g()
    next(a)
    return a.send(x), a.send(x + 1)


@idiom
def gen_close(x):
    r = []

    def g():
        try:
            yield x
        finally:
            r.append("closed")

    a = g()
    next(a)
    a.close()
    return r, x


@idiom
def yield_from(x):
    def g():
        yield from (x * i for i in range(3))

    return list(g())


@idiom
def custom_iter(x):
    class It:
        def __init__(s):
            s.i = 0

        def __iter__(s):
            return s

        def __next__(s):
            s.i += 1
            if s.i > 3:
                raise StopIteration
            return s.i

    return sum(x * i for i in It())


@idiom
def prop(x):
    class P:
        def __init__(s):
            s._v = 2

        @property
        def v(s):
            return s._v

        @v.setter
        def v(s, a):
            s._v = a * 2

    p = P()
    p.v = 3
    return x * p.v


@idiom
def getattr_(x):
    class P:
        def __getattr__(s, n):
            return len(n)

    return x * P().abc


@idiom
def slots(x):
    class S:
        __slots__ = ("a",)

    s = S()
    s.a = x
    return s.a + 1


@idiom
def opover(x):
    class V:
        def __init__(s, v):
            s.v = v

        def __add__(s, o):
            return V(s.v + o.v)

        def __rmul__(s, k):
            return V(s.v * k)

        def __eq__(s, o):
            return True

        def __hash__(s):
            return 1

    return (2 * (V(x) + V(x))).v


@idiom
def ctxmgr(x):
    r = []

    @contextlib.contextmanager
    def cm():
        r.append("in")
        try:
            yield 3
        finally:
            r.append("out")

    with cm() as k:
        y = x * k
    return y, r


@idiom
def suppress(x):
    with contextlib.suppress(ZeroDivisionError):
        1 / 0
    return x


@idiom
def exitstack(x):
    r = []
    with contextlib.ExitStack() as s:
        s.callback(r.append, 1)
        y = x + 1
    return y, r


@idiom
def stringio(x):
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        print("in", x.shape)
    return b.getvalue(), x


@idiom
def open_(x):
    with open("./d/f.txt", "w") as f:
        f.write(str(x.shape[0]))
    return open("./d/f.txt").read(), x


@idiom
def cvar(x):
    t = CV.set(CV.get() + 1)
    r = CV.get()
    CV.reset(t)
    return x * r
