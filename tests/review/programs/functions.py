"""Functions: closures, defaults, signatures, functools, recursion."""

import functools
import logging
import operator
import types
import weakref

import weft
from tests.review.harness import brk, prog, told, x0


@prog
def lru_cache_stale(C):
    global LK
    LK = 2

    @functools.lru_cache(None)
    def k(n):
        return n * LK

    f = C(lambda x: x * k(3))
    a = f(x0())
    LK = 5
    b = f(x0())
    return a, b


@prog
def lru_cache_calls(C):
    calls = []

    @functools.lru_cache(None)
    def k(n):
        calls.append(n)
        return n * 2

    f = C(lambda x: x * k(3) + k(3))
    return f(x0()), f(x0() + 1), len(calls), k.cache_info().hits


@prog
def singledispatch_later(C):
    @functools.singledispatch
    def g(a):
        return 1

    class T:
        pass

    f = C(lambda t, x: x * g(t))
    a = f(T(), x0())
    g.register(T, lambda a: 5)
    b = f(T(), x0())
    return a, b


@prog
def closures_nonlocal(C):
    def make():
        n = 0

        def inc(x):
            nonlocal n
            n += 1
            return x * n

        def get():
            return n

        return inc, get

    inc, get = make()
    inc = C(inc)
    return [inc(x0()) for _ in range(4)], get()


@prog
def closure_created_returned(C):
    def f(x, k):
        n = k

        def g(y):
            nonlocal n
            n += 1
            return y * n + x.sum()

        g.tag = "t"
        return g, x + 1

    g, y = C(f)(x0(), 2)
    return g(y), g(y), g.tag, g.__name__, g.__qualname__.split(".")[-1]


@prog
def closure_qualname_annotations(C):
    def f(x):
        def g(a: int, b: "str" = "q", *, c: float = 1.0) -> int:
            "doc"
            return a

        return g, x + 1

    g, _ = C(f)(x0())
    return g.__qualname__, g.__annotations__, g.__doc__, g.__kwdefaults__, g.__defaults__, g.__module__


@prog
def posonly_kwonly(C):
    def f(x, a, /, b, *, c=3):
        return x * a + b * c

    f = C(f)
    r = [f(x0(), 1, 2), f(x0(), 1, b=2, c=4)]
    try:
        f(x0(), a=1, b=2)
    except TypeError as e:
        r.append(str(e))
    try:
        f(x0())
    except TypeError as e:
        r.append(str(e))
    return r


@prog
def functools_mix(C):
    def add(a, b, c=0):
        return a + b + c

    p = functools.partial(add, 1, c=5)

    class O:
        def m(self, a, b):
            return a * b

        pm = functools.partialmethod(m, 3)

        @functools.cached_property
        def cp(self):
            LOG.append(1)
            return 4

        @functools.singledispatchmethod
        def sd(self, a):
            return 1

        @sd.register
        def _(self, a: int):
            return 2

    LOG = []
    o = O()

    @functools.wraps(add)
    def w(*a, **k):
        return add(*a, **k)

    f = C(
        lambda x: (
            x * p(2) + o.pm(2) + o.cp + o.cp,
            functools.reduce(operator.mul, [1, 2, 3], 2),
            w(1, 2),
            w.__name__,
            o.sd(1),
            o.sd("s"),
            sorted([3, 1], key=functools.cmp_to_key(lambda a, b: b - a)),
        )
    )
    return f(x0()), f(x0()), LOG


@prog
def recursion(C):
    def fact(x, n):
        return x if n <= 1 else fact(x, n - 1) * n

    global fact2

    def fact2(x, n):
        if n <= 1:
            return x
        print(n)
        return fact2(x, n - 1) * n

    return C(fact)(x0(), 5), C(fact2)(x0(), 5)


@prog
def itemgetter_instance(C):
    g = operator.itemgetter(1)
    ag = operator.attrgetter("k")
    mc = operator.methodcaller("upper")

    class O:
        k = 3

    o = O()
    return C(lambda x: (x * g([1, 2]), ag(o), mc("a")))(x0())


@prog
def partial_subclass_and_call(C):
    class P(functools.partial):
        pass

    p = P(lambda a, b: a * b, 3)
    return C(lambda x: x * p(2))(x0())


@prog
def lru(C):
    @functools.lru_cache
    def k(n):
        return n * 2

    return C(lambda x: x * k(3))(x0())


@prog
def nonlocal_loop_closures_break(C):
    def f(x):
        fs = []
        for i in range(3):

            def g(y, i=i):
                nonlocal x
                x = x + i
                return y * x.sum()

            print(i)
            fs.append(g)
        return [g(i) for i, g in enumerate(fs)], x

    return C(f)(x0())


@prog
def weakref_obj(C):
    class O:
        pass

    o = O()
    o.k = 2
    r = weakref.ref(o)
    wd = weakref.WeakKeyDictionary({o: 5})
    f = C(lambda x: (x * r().k + wd[o], r() is o) if r() else x)
    return f(x0())


@prog
def star_import_module_attr(C):
    m = types.ModuleType("mm")
    exec("K=2\ndef h(x): return x*K\nclass Q:\n  z=3\n", m.__dict__)
    f = C(lambda x: m.h(x) * m.Q.z)
    a = f(x0())
    m.K = 5
    b = f(x0())
    m.Q.z = 7
    c = f(x0())
    m.h = lambda x: x * 1000
    d = f(x0())
    m.Q = type("Q", (), {"z": 1})
    return a, b, c, d, f(x0())


@prog
def strange_args(C):
    def f(x, *, a=1, **k):
        return x * a + sum(k.values()), sorted(k)

    f = C(f)
    return f(x0()), f(x0(), a=2, z=3), f(x=x0(), z=4, y=5), f(x0(), **{"q q": 1})


@prog
def nested_compile_disable(C):
    g = C(lambda x: x * 2)
    if C(len) is len:
        h = lambda x: x + 5
    else:
        h = weft.compiler.disable(lambda x: x + 5)
    f = C(lambda x: g(x) + h(x))
    return f(x0())


@prog
def logging_inside(C):

    lg = logging.getLogger("q")
    recs = []
    h = logging.Handler()
    h.emit = lambda r: recs.append((r.funcName, r.getMessage()))
    lg.addHandler(h)
    lg.propagate = False

    def f(x):
        y = x + 1
        lg.warning("hey %s", x.shape[0])
        return y

    r = C(f)(x0())
    return r, recs


@prog
def names_of_name_errors(C):
    def f(x, how):
        a = 1

        def drop():
            nonlocal a
            del a

        def read():
            return a

        drop()
        told = []
        for function in (read, drop, lambda: no_such_global, lambda: a):  # noqa: F821
            try:
                told.append(function())
            except NameError as e:
                told.append((str(e), e.name))
        return x + how, told

    f = C(f)
    return [f(x0(), 1), f(x0(), 1)]


@prog
def partials_of_partials(C):
    def f(x):
        p = functools.partial(functools.partial(max, 1, key=None), 2, key=abs)
        told = [p.args, p.func is max, list(p.keywords)]
        for wrong in (lambda: functools.partial(), lambda: functools.partial(3)):
            try:
                told.append(wrong())
            except TypeError as e:
                told.append(str(e))
        return x, told

    f = C(f)
    return [f(x0()), f(x0())]


@prog
def methods_of_lru_caches(C):
    @functools.lru_cache
    def g(n):
        return n + 1

    def f(x):
        return x + g(1), g.cache_info().hits

    f = C(f)
    return [f(x0()), f(x0()), g.cache_clear(), f(x0())]


@prog
def methods_of_lru_caches_hidden(C):
    @functools.lru_cache
    def g(n):
        return n + 1

    def f(x):
        return x + g(1), g.cache_info().hits

    f = C(f)
    out = [f(x0()), f(x0())]
    g.cache_info = lambda: types.SimpleNamespace(hits=77)
    out.append(f(x0()))
    del g.cache_info
    return [*out, f(x0())]


def counter():
    t = 0

    def inc():
        nonlocal t
        t += 1
        return t

    def get():
        return t

    return inc, get


@prog
def closures_of_one_factory_keep_their_own_cells(C):
    c = C(lambda x, inc: x + inc())
    a, b = counter(), counter()
    return [c(x0(), f) for f in (a[0], b[0], b[0], a[0], b[0])], a[1](), b[1]()


@prog
def closures_that_share_a_cell_or_do_not(C):
    def f(x, inc, get):
        return x + inc(), get(), inc(), get()

    r = []
    for order in ((0, 0), (1, 0), (0, 1), (1, 1)), ((0, 1), (1, 0), (0, 0), (1, 1)):
        c, made = C(f), [counter(), counter()]
        r += [c(x0(), made[i][0], made[j][1]) for i, j in order]
    return r


@prog
def cells_reached_in_two_ways(C):
    def f(x, inc):
        cell = inc.__closure__[0]
        a, b, c = cell.cell_contents, inc(), cell.cell_contents
        cell.cell_contents = 50
        return x + 1, a, b, c, inc()

    def own(x):
        t = 0
        read = lambda: t
        brk()
        t = 100
        return x + 1, read.__closure__[0].cell_contents

    def factory():
        n = 0

        def inc():
            nonlocal n
            n += 1
            return n

        def g(x, other):
            nonlocal n
            n += 10
            return x + n, other(), n, inc.__closure__[0].cell_contents

        return g, inc

    c, a, b = C(f), counter(), counter()
    (g, i), (h, j) = factory(), factory()
    g, h = C(g), C(h)
    mixed = [made(x0(), inc) for made, inc in ((g, i), (h, j), (g, j), (h, i), (g, i), (h, j))]
    return [c(x0(), v[0]) for v in (a, b, a)], a[1](), b[1](), C(own)(x0()), mixed, i(), j()


@prog
def one_code_with_other_globals(C):
    code = (lambda v: (v, NAMED)).__code__
    spaces = {"NAMED": 1}, {"NAMED": 2}, {"__builtins__": {"NAMED": 3}}, {}
    functions = [types.FunctionType(code, space) for space in spaces]
    r = []
    for order in functions, functions[::-1]:
        c = C(lambda x, f: (x + 1, told(lambda: f(3))))
        r += [c(x0(), f) for f in order]
    whole = [C(f) for f in functions]
    return r, [told(f, x0()) for f in (*whole, *whole[::-1])]


@prog
def equal_ranges_are_shown_as_they_were_made(C):
    c = C(lambda x, r: (x + 1, repr(r), len(r), r == range(0)))
    return [c(x0(), r) for r in (range(0), range(1, 1), range(3), range(0, 3, 1), range(0, 3, 2), range(0, 4, 2), range(0))]
