"""Orders, slices, patterns, scopes, closures, caches, identities and namespaces between calls."""

import collections
import copy
import dataclasses
import functools
import inspect
import types
import typing
import weakref

from tests.review.harness import prog, told, x0


class Pair(typing.NamedTuple):
    a: int
    b: int = 2


@prog
def compared_by_cmp(C):
    log = []

    class K:
        def __init__(self, n):
            self.n = n

        def __lt__(self, o):
            log.append((self.n, o.n))
            return self.n < o.n

        def __repr__(self):
            return f"K{self.n}"

    def f(x, ns):
        l = [K(n) for n in ns]
        l.sort()
        return x, l, min(l), max(l), told(lambda: l[0] <= l[1]), l[0] > l[1], sorted(l, key=functools.cmp_to_key(lambda a, b: b.n - a.n))

    c = C(f)
    return c(x0(), [3, 1, 2]), c(x0(), [5, 4]), log


@prog
def slices_assigned(C):
    def f(x, l, k):
        alias = l
        out = []
        for g in (
            lambda: l.__setitem__(slice(1, 3), [9] * k), lambda: l.__setitem__(slice(None, None, 2), [0]), lambda: l.__delitem__(slice(-1, None)),
            lambda: l.__setitem__(slice(0, 0), (7, 8)), lambda: l.extend(l), lambda: l.__imul__(0 if k == 3 else 2), lambda: l.insert(-1, "i"),
            lambda: l.pop(50), lambda: l.remove("i"), lambda: l.__setitem__(slice(1, 2), 5),
        ):  # fmt: skip
            out.append(told(g))
        return x + len(l), [type(o).__name__ if isinstance(o, list) else o for o in out], l, alias is l

    c = C(f)
    r = []
    for k in range(4):
        l = [1, 2, 3, 4]
        r.append((c(x0(), l, k), l))
    return r


@prog
def augmented_targets_are_evaluated_once(C):
    log = []

    class D(dict):
        def __getitem__(self, k):
            log.append(("get", k))
            return dict.__getitem__(self, k)

        def __setitem__(self, k, v):
            log.append(("set", k, v))
            dict.__setitem__(self, k, v)

    def at(k):
        log.append(("at", k))
        return k

    def f(x, d):
        d[at("a")] += 1
        d[at("b")] *= (log.append("value"), 3)[1]
        t = ([1],)
        try:
            t[0] += [2]
        except TypeError as g:
            e = str(g)
        return x * d["a"], t, e

    c = C(f)
    a, b = D(a=1, b=2), D(a=5, b=6)
    return c(x0(), a), c(x0(), b), log, a


@prog
def star_arguments_keep_order(C):
    log = []

    def t(v):
        log.append(v)
        return v

    def g(*a, **k):
        return a, k

    def f(x):
        r = g(t(1), *t([2, 3]), t(4), k=t(5), **t({"m": 6}), n=t(7))
        a, *b, (d, *e) = t([1, 2, [3, 4]])
        [*m, n] = {**{"q": 1}, "r": 2, **{"q": 3}}
        errors = told(lambda: g(**{"k": 1}, **{"k": 2})), told(lambda: g(**{1: 2})), told(lambda: g(*3)), told(lambda: g(**3))
        return x, r, a, b, d, e, m, n, errors

    c = C(f)
    return c(x0()), c(x0()), log


@prog
def patterns(C):
    class A:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    def f(x, v):
        match v:
            case {"k": int(n), **rest} if n > 1:
                r = ("map", n, rest)
            case {"k": n}:
                r = ("map2", n)
            case [1, *mid, 3]:
                r = ("seq", mid)
            case (1 | 2) as w:
                r = ("or", w)
            case A(a=1, b=[p, q]):
                r = ("obj", p, q)
            case A(a, 5):
                r = ("pos", a)
            case str() | bytes():
                r = "text"
            case Pair(a, b):
                r = ("pair", a, b)
            case [[_, z], _]:
                r = ("nest", z)
            case None | True:
                r = "none"
            case -1.5 | 2j:
                r = "num"
            case _:
                r = "other"
        return x + 1, r

    c = C(f)
    values = [
        {"k": 3, "z": 1}, {"k": 1}, {"k": "s"}, [1, 2, 2, 3], (1, 3), 1, 2.0, True, A(1, [4, 5]), A(6, 5), A(6, 7), "s", b"b", Pair(1, 2),
        [[1, 2], 3], None, -1.5, 2j, {}, [], {1}, x0(), range(1, 4), collections.deque([1, 3]), collections.OrderedDict(k=2),
    ]  # fmt: skip
    return [told(c, x0(), v) for v in values]


@prog
def walrus_and_comprehension_scopes(C):
    def f(x, n):
        total = 0
        l = [total := total + v for v in range(n)]
        d = {k: (last := v) for k, v in enumerate("ab")}
        i = "outer"
        s = {i for i in range(3)}
        g = [lambda: i for i in range(3)]
        while (m := n - 1) > 2:
            n = m
        return x + total, l, d, last, i, s, [h() for h in g], n, [(a, b) for a in range(2) if a for b in range(a)]

    c = C(f)
    return c(x0(), 3), c(x0(), 5)


@prog
def cells_rebound_between_calls(C):
    def outer():
        k = 2
        l = [1]

        def get(x):
            return x * k + len(l)

        def put(v):
            nonlocal k, l
            k = v
            l = l + [v]

        def drop():
            nonlocal k
            del k

        return get, put, drop

    get, put, drop = outer()
    c = C(get)
    r = [c(x0())]
    put(5)
    r.append(c(x0()))
    get.__closure__[0].cell_contents = 9
    r.append(c(x0()))
    drop()
    r.append(told(c, x0()))
    put(1)
    r.append(c(x0()))
    return r


@prog
def defaults_are_shared_and_mutated(C):
    def f(x, seen=[], *, k={"n": 0}):
        seen.append(x.shape[0])
        k["n"] += 1
        return x * k["n"], list(seen)

    c = C(f)
    r = [c(x0()), c(x0()), c(x0(), [5])]
    f.__defaults__ = ([100],)
    r.append(c(x0()))
    f.__kwdefaults__["k"] = {"n": 50}
    r.append(c(x0()))
    f.__kwdefaults__ = None
    r.append(told(c, x0()))
    return r


@prog
def partials_wrapped_and_dispatched(C):
    @functools.singledispatch
    def kind(v):
        return 1

    @kind.register
    def _(v: int):
        return 2

    @kind.register(list)
    def _(v):
        return 3 + len(v)

    p = functools.partial(lambda a, b, k=1: a * b + k, 2, k=5)

    @functools.wraps(kind)
    def w(x):
        return x + kind(p)

    def f(x, v):
        return x * kind(v), p(x), p(x, k=0), p.func is not None, p.args, p.keywords, w(x), w.__name__, w.__wrapped__ is kind

    c = C(f)
    r = [c(x0(), v) for v in (1, "s", [1], True, None)]
    kind.register(str, lambda v: 50)
    r.append(c(x0(), "s"))
    p.keywords["k"] = 7
    r.append(c(x0(), 1))
    p.__setstate__((lambda a, b, k=1: a - b, (3,), {}, None))
    r.append(told(c, x0(), 1))
    return r


@prog
def caches_inside(C):
    calls = []

    @functools.lru_cache(maxsize=2)
    def g(n):
        calls.append(n)
        return n * 2

    @functools.cache
    def h(a, b=1):
        calls.append((a, b))
        return [a]

    def f(x, n):
        a = h(n)
        a.append(n)
        return x * g(n), g.cache_info().hits, h(n) is a, len(a), g.cache_parameters()

    c = C(f)
    r = [c(x0(), n) for n in (1, 2, 1, 3, 2, 1.0, True)]
    g.cache_clear()
    r.append(c(x0(), 1))
    return r, calls


@prog
def introspection(C):
    class A:
        """doc"""

        x: int = 3

        def m(self, a, *b, c=1, **d):
            """mdoc"""

        @staticmethod
        def s():
            pass

        @classmethod
        def k(cls):
            pass

    def f(x, o):
        return (
            x + 1, str(inspect.signature(o.m)), str(inspect.signature(A.m)), inspect.getdoc(A), inspect.isfunction(o.m), inspect.ismethod(o.m),
            inspect.isclass(A), list(inspect.signature(A).parameters), typing.get_type_hints(A), A.__mro__ == (A, object), A.__name__,
            o.m.__func__ is A.m, o.m.__self__ is o, o.m == o.m, o.m is o.m, A.k.__self__ is A, callable(o), callable(A),
            vars(A)["s"].__func__ is A.s, A.m.__code__.co_varnames, o.m.__doc__, isinstance(A.__dict__, types.MappingProxyType),
            type(A) is type, A.__qualname__, inspect.getmodule(f).__name__,
        )  # fmt: skip

    c = C(f)
    return c(x0(), A()), c(x0(), A())


@prog
def identity_of_what_is_made(C):
    def f(x, a, b):
        l = [a]
        t = (a, b)
        facts = (
            a is b, l[0] is a, t[1] is b, id(a) == id(b), [] is [], () is (), a is not None, x is x, x.T is x.T, (a,) == (b,),
            type(a) is type(b), weakref.ref(x)() is x,
        )  # fmt: skip
        return x, facts, t, l

    c = C(f)
    o, p = object(), object()
    y = x0()
    r = []
    for a, b in ((o, o), (o, p), (y, y), (y, x0()), ("s", "s"), (1, 1), (1, 1.0), ([], [])):
        v = told(c, y, a, b)
        r.append((v[1], v[2][0] is a, v[3][0] is a, v[0] is y) if len(v) == 4 else v)
    return r


@prog
def weak_containers(C):
    class A:
        def __init__(self, n):
            self.n = n

    keep = [A(1), A(2)]
    wd = weakref.WeakKeyDictionary({keep[0]: 1, keep[1]: 2})
    wv = weakref.WeakValueDictionary({1: keep[0], 2: keep[1]})
    ws = weakref.WeakSet(keep)

    def f(x):
        return x + len(wd), len(wv), len(ws), sorted((v.n for v in ws), key=repr), sorted(wv), wv.get(2) is None, [wd[k] for k in keep]

    c = C(f)
    r = [c(x0())]
    keep.pop()
    r.append(c(x0()))
    keep.append(A(3))
    wd[keep[1]] = 9
    r.append(c(x0()))
    return r


@prog
def types_made_inside(C):
    class Base:
        __slots__ = ()

    def f(x, n):
        T = type("T", (Base,), {"k": n, "g": lambda s, v: v * s.k})
        N = collections.namedtuple("N", ["a", "b"], defaults=[n])
        D = dataclasses.make_dataclass("D", [("q", int, n)])
        return T().g(x), T.__name__, N(1), D(), types.SimpleNamespace(a=n), D() == D()

    c = C(f)
    return [told(c, x0(), n) for n in (2, 3, 5)]


@prog
def namespaces_change(C):
    ns = types.SimpleNamespace(k=2)

    def f(x):
        ns.n = getattr(ns, "n", 0) + 1
        return x * ns.k, ns.n, vars(ns).get("z"), repr(ns) if ns.n == 2 else None, "z" in vars(ns)

    c = C(f)
    r = [c(x0())]
    ns.k = 3
    r.append(c(x0()))
    ns.z = 1
    del ns.n
    r.append(c(x0()))
    ns.__dict__.clear()
    r.append(told(c, x0()))
    return r


@prog
def mapping_proxies_and_frozen_sets(C):
    d = {"a": 1}
    m = types.MappingProxyType(d)
    s = frozenset([1, 2])

    def f(x, s):
        return (
            x * m["a"], dict(m), told(lambda: m.__setitem__("a", 3)), m | {"b": 2}, s | {3}, s & {1}, hash(s) == hash(frozenset(s)),
            {s: 1}[frozenset(s)], s <= {1, 2, 3}, told(lambda: s.add), len(m), m == {"a": 1}, m.copy() is not d,
        )  # fmt: skip

    c = C(f)
    r = [c(x0(), s)]
    d["a"] = 5
    r.append(c(x0(), frozenset([2])))
    return r


@prog
def dunder_dict_of_instances(C):
    class A:
        k = 1

    def f(x, o):
        o.__dict__["j"] = 5
        o.__dict__.setdefault("k", 7)
        o.__dict__ |= {"m": 1}
        vars(o)["n"] = o.j + o.k
        del o.__dict__["j"]
        return x * o.n, sorted(o.__dict__), hasattr(o, "j"), o.__dict__ is vars(o)

    c = C(f)
    a, b = A(), A()
    b.k = 3
    return c(x0(), a), c(x0(), b), vars(a), vars(b)


@prog
def keys_that_tell_of_their_hash(C):
    class K:
        def __init__(self, n, log):
            self.n, self.log = n, log

        def __hash__(self):
            self.log.append(("hash", self.n))
            return self.n

        def __eq__(self, o):
            self.log.append(("eq", self.n, o.n))
            return self.n == o.n

        def __repr__(self):
            return f"K{self.n}"

    def f(x, log):
        a, b = K(1, log), K(2, log)
        d = {a: 1}
        d[b] = 2
        d.setdefault(K(3, log), 3)
        d.setdefault(K(1, log), 9)
        d.pop(K(2, log))
        del d[K(3, log)]
        s = {a, b}
        s.remove(K(1, log))
        log.append("end")
        return x + len(d), d, s

    c = C(f)
    l1, l2 = [], []
    return repr(c(x0(), l1)), l1, repr(c(x0(), l2)), l2


@prog
def copies_make_objects_as_their_class_does(C):
    log = []

    class A:
        def __new__(cls, *a):
            log.append("new")
            return super().__new__(cls)

    class B:
        k = property(lambda s: 5)

    def f(x, a, b):
        d, e = copy.copy(a), copy.copy(b)
        return x + 1, d is a, vars(d), vars(e), e.k, copy.deepcopy(a) is a

    c = C(f)
    a, b = A(), B()
    a.n = 1
    b.__dict__["k"] = 7
    return c(x0(), a, b), c(x0(), a, b), log
