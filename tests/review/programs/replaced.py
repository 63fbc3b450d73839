"""Code, wrapped functions, bound methods, imports and names that are replaced under the function that uses them."""

import builtins
import functools
import operator
import sys
import types

import weft
from tests.review.harness import prog, told, x0


@prog
def code_of_what_is_wrapped(C):
    def g(n):
        return n + 1

    cached = functools.lru_cache(g)
    part = functools.partial(g, 2)

    class A:
        p = property(g)
        s = staticmethod(g)
        k = classmethod(lambda cls, n: g(n))
        m = functools.partialmethod(lambda self, n: g(n), 4)
        __int__ = lambda self: 3
        __add__ = lambda self, o: o

    A.p = property(lambda self: g(1))
    a = A()
    c = C(lambda x: (x + part(), a.p, a.s(5), a.k(6), a.m(), cached(7)))
    r = [c(x0())]
    g.__code__ = (lambda n: n * 100).__code__
    r.append(c(x0()))
    g.__defaults__ = (9,)
    r.append(c(x0()))
    cached.cache_clear()
    r.append(c(x0()))
    return r


@prog
def bound_methods_kept_elsewhere(C):
    class A:
        def __init__(self, n):
            self.n = n

        def get(self, x):
            return x * self.n

    a, b = A(2), A(3)
    box = types.SimpleNamespace(f=a.get)
    a.extra = types.MethodType(lambda self, x: x + self.n, b)
    c = C(lambda x: (box.f(x), a.extra(x), box.f.__self__ is a, box.f == a.get))
    r = [c(x0())]
    box.f = b.get
    r.append(c(x0()))
    b.n = 7
    r.append(c(x0()))
    A.get = lambda self, x: x - self.n
    r.append(c(x0()))
    a.get = 5
    r.append(c(x0())[:2])
    return r


@prog
def imports_inside(C):
    m = types.ModuleType("weft_review_m")
    m.k = 2
    sys.modules["weft_review_m"] = m

    def f(x):
        import weft_review_m as w
        from weft_review_m import k

        try:
            from weft_review_m import absent
        except ImportError as e:
            absent = type(e).__name__, e.name, e.path, str(e)
        return x * k + w.k, absent

    c = C(f)
    try:
        r = [c(x0())]
        m.k = 3
        r.append(c(x0()))
        m.absent = 1
        r.append(c(x0()))
        other = types.ModuleType("weft_review_m")
        other.k = 10
        sys.modules["weft_review_m"] = other
        r.append(c(x0()))
        del sys.modules["weft_review_m"]
        r.append(told(c, x0()))
    finally:
        sys.modules.pop("weft_review_m", None)
    return r


@prog
def import_hook_replaced(C):
    seen = []
    old = builtins.__import__

    def hook(name, *a, **k):
        if name == "math":
            seen.append(name)
        return old(name, *a, **k)

    def f(x):
        import math

        return x * math.floor(2.5)

    c = C(f)
    r = [c(x0())]
    builtins.__import__ = hook
    try:
        r.append(c(x0()))
        r.append(c(x0()))
    finally:
        builtins.__import__ = old
    return r, seen


@prog
def eval_and_globals(C):
    space = {"k": 2, "weft": weft}
    exec(
        "def f(x):\n    n = 3\n    globals()['made'] = globals().get('made', 0) + 1\n    return x * k + eval('n + k'), made, sorted(v for v in locals() if v != 'x')",
        space,
    )
    c = C(space["f"])
    r = [c(x0())]
    space["k"] = 5
    r.append(c(x0()))
    return r, space["made"]


@prog
def class_statements_inside(C):
    log = []

    class Meta(type):
        @classmethod
        def __prepare__(mcs, name, bases, **kw):
            log.append(("prepare", name, kw))
            return {"given": 1}

        def __new__(mcs, name, bases, ns, **kw):
            return super().__new__(mcs, name, bases, ns)

        def __init__(cls, name, bases, ns, **kw):
            super().__init__(name, bases, ns)

    class D:
        def __set_name__(self, owner, name):
            log.append(("named", owner.__name__, name))

    def f(x, n):
        class A(metaclass=Meta, flag=n):
            d = D()
            k = n

            def __init_subclass__(cls, **kw):
                log.append(("sub", cls.__name__, kw))

            def get(self):
                return __class__.k

        class B(A, z=3):
            pass

        return x * B().get(), A.given, B.__mro__[1] is A

    c = C(f)
    return c(x0(), 2), c(x0(), 4), log


@prog
def super_and_the_class_cell(C):
    class A:
        def g(self, x):
            return x + 1

    class B(A):
        def g(self, x):
            return super().g(x) * 2

        def h(self, x):
            return super(B, self).g(x)

        @classmethod
        def k(cls):
            return super().__name__ if hasattr(super(), "__name__") else cls.__name__

    b = B()
    c = C(lambda x: (b.g(x), b.h(x), B.k(), super(B, b).g(x)))
    r = [c(x0())]
    A.g = lambda self, x: x + 100
    r.append(c(x0()))

    class A2:
        def g(self, x):
            return x - 1

    B.__bases__ = (A2,)
    r.append(c(x0()))
    B.g.__closure__[0].cell_contents = A2
    r.append(told(c, x0()))
    return r


@prog
def recursion_through_names(C):
    space = {}
    exec("def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\ndef f(x, n):\n    return x * fact(n)", space)
    c = C(space["f"])
    r = [c(x0(), 4)]
    space["fact"] = lambda n: 5
    r.append(c(x0(), 4))
    del space["fact"]
    r.append(told(c, x0(), 4))
    y = lambda f: (lambda g: f(lambda v: g(g)(v)))(lambda g: f(lambda v: g(g)(v)))
    d = C(lambda x, n: x + y(lambda rec: lambda k: 0 if k == 0 else k + rec(k - 1))(n))
    r += [d(x0(), 3), d(x0(), 5)]
    return r


@prog
def decorators_that_keep_state(C):
    def counted(f):
        @functools.wraps(f)
        def w(*a, **k):
            w.calls += 1
            w.last = a[1:]
            return f(*a, **k)

        w.calls = 0
        return w

    @counted
    def g(x, n=1):
        return x * n

    def f(x, n):
        return g(g(x, n), n=n + 1), g.calls, g.last, hasattr(g, "extra")

    c = C(f)
    r = [c(x0(), 2), c(x0(), 3)]
    g.extra = 1
    g.calls = 100
    r.append(c(x0(), 2))
    g.__wrapped__.__defaults__ = (9,)
    d = C(lambda x: g(x))
    r.append(d(x0()))
    del g.calls
    r.append(told(c, x0(), 2))
    return r


@prog
def names_unbound_and_deleted(C):
    def f(x, k):
        if k == 1:
            y = x + 1
        try:
            z = y
        except UnboundLocalError as e:
            z = str(e)
        if k == 2:
            del x
        try:
            x = x * 2
        except NameError as e:
            x = type(e).__name__, e.name if hasattr(e, "name") else None
        for i in range(k - 1):
            pass
        try:
            last = i
        except NameError as e:
            last = "no i"
        return z, x, last

    c = C(f)
    return [c(x0(), k) for k in (0, 1, 2, 3)]


@prog
def attributes_of_functions_and_methods(C):
    def g(x):
        g.n = getattr(g, "n", 0) + 1
        return x * g.n

    class A:
        def m(self):
            return A.m.tag

        m.tag = 4

    a = A()
    fixed = ("__func__", "__doc__", "__self__", "__name__", "__call__")
    c = C(lambda x: (g(x), a.m(), a.m.tag, told(setattr, a.m, "tag", 3), vars(g).get("n"), [told(setattr, a.m, n, 1) for n in fixed]))
    r = [c(x0()), c(x0())]
    A.m.tag = 6
    del g.n
    r.append(c(x0()))
    return r


@prog
def objects_called_through_operator(C):
    class A:
        def __getitem__(self, k):
            return k

        def __call__(self, *a):
            return len(a)

        def __contains__(self, k):
            return k == 3

        def __length_hint__(self):
            return 7

        def __trunc__(self):
            return 5

        def __divmod__(self, o):
            return "divmod"

        def __pow__(self, o, mod=None):
            return ("pow", mod)

        def __reversed__(self):
            return iter([9])

        def __dir__(self):
            return ["z", "a"]

    a = A()

    def f(x):
        return (
            x + a(1, 2), operator.itemgetter(slice(1, 2), "k")(a), operator.contains(a, 3), operator.length_hint(a), divmod(a, 2), pow(a, 2, 3), a**2,
            list(reversed(a)), dir(a), a[1:2, ...], a[()], 3 in a, [*map(a, [1], [2])], a[1,],
        )  # fmt: skip

    c = C(f)
    r = [c(x0())]
    A.__getitem__ = lambda self, k: 0
    A.__pow__ = lambda self, o, mod=None: 1
    r.append(c(x0()))
    return r


@prog
def star_imports_of_defaults(C):
    def make(n, acc=[]):
        def g(x, k=n, *, z=acc):
            z.append(k)
            return x * k + len(z)

        return g

    g, h = make(2), make(3)
    c, d = C(g), C(h)
    r = [c(x0()), d(x0()), c(x0())]
    g.__kwdefaults__["z"] = [1, 2, 3]
    r += [c(x0()), d(x0())]
    g.__closure__
    return r, make.__defaults__


@prog
def properties_of_modules_and_layers(C):
    class M(weft.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = weft.nn.Parameter(weft.ones(4))
            self.register_buffer("b", weft.zeros(4), persistent=False)
            self.scale = 2

        @property
        def both(self):
            return self.w + self.b

        def forward(self, x):
            return x * self.both * self.scale

    m = M()
    c = C(m)
    r = [c(x0()).detach()]
    m.b += 1
    r.append(c(x0()).detach())
    m.b = weft.ones(4) * 5
    r.append(c(x0()).detach())
    m.scale = weft.tensor(3.0)
    r.append(c(x0()).detach())
    M.both = property(lambda self: self.w)
    r.append(c(x0()).detach())
    m._parameters["w"] = weft.nn.Parameter(weft.ones(4) * 9)
    r.append(c(x0()).detach())
    m.__dict__["scale"] = 0
    r.append(c(x0()).detach())
    del m.scale
    r.append(told(c, x0()))
    return r
