"""Special methods, descriptors, defaults and code that are replaced between two calls."""

import functools

from tests.review.harness import prog, told_whole, x0


@prog
def descriptor_data_vs_instance(C):
    class Dsc:
        def __get__(self, o, t):
            return 5

    class A:
        d = Dsc()

    o = A()
    c = C(lambda x: x * o.d)
    r = [c(x0())]
    o.__dict__["d"] = 6
    r.append(c(x0()))
    Dsc.__set__ = lambda self, o, v: None
    r.append(c(x0()))
    del Dsc.__set__
    r.append(c(x0()))
    Dsc.__get__ = lambda self, o, t: 9
    del o.__dict__["d"]
    r.append(c(x0()))
    return r


@prog
def descriptor_added_to_value_type(C):
    class V:
        def __mul__(self, x):
            return x * 2

        __rmul__ = __mul__

    class A:
        v = V()

    o = A()
    c = C(lambda x: x * o.v)
    r = [c(x0())]
    V.__get__ = lambda self, o, t: 3
    r.append(c(x0()))
    return r


@prog
def getattr_hook_added(C):
    class A:
        pass

    o = A()
    c = C(lambda x: x * getattr(o, "k", 2))
    r = [c(x0())]
    A.__getattr__ = lambda self, n: 5
    r.append(c(x0()))
    A.__getattribute__ = lambda self, n: 6
    r.append(c(x0()))
    del A.__getattribute__
    r.append(c(x0()))
    return r


@prog
def getattribute_raises(C):
    class A:
        def __getattribute__(self, n):
            if n == "bad":
                raise AttributeError("no bad")
            return object.__getattribute__(self, n)

        def __getattr__(self, n):
            return n + "!"

    o = A()
    c = C(lambda x: (x + 1, o.bad, o.other))
    return c(x0()), c(x0())


@prog
def property_raises_attributeerror(C):
    class A:
        @property
        def p(self):
            raise AttributeError("inner")

        def __getattr__(self, n):
            return 3

    o = A()
    c = C(lambda x: x * o.p)
    r = [c(x0())]
    del A.__getattr__
    r.append(told_whole(c, x0()))
    return r


@prog
def setattr_hook(C):
    log = []

    class A:
        def __setattr__(self, n, v):
            log.append((n, v))
            object.__setattr__(self, n, v * 2)

        def __delattr__(self, n):
            log.append(("del", n))
            object.__delattr__(self, n)

    def f(x, o):
        o.k = 3
        y = x * o.k
        del o.k
        return y, hasattr(o, "k")

    c = C(f)
    return c(x0(), A()), c(x0(), A()), log


@prog
def eq_hash_changes(C):
    class K:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __hash__(self):
            return hash(self.v)

    a, b = K(1), K(2)
    d = {a: 10, b: 20}
    c = C(lambda x, k: x * d[k])
    r = [c(x0(), K(1)), c(x0(), K(2))]
    K.__eq__ = lambda self, o: self is o
    r.append(told_whole(c, x0(), K(1))[:1] if isinstance(told_whole(c, x0(), K(1)), tuple) else 0)
    r.append(c(x0(), a))
    return r


@prog
def key_mutated_between(C):
    class K:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __hash__(self):
            return 1

    k = K(1)
    d = {k: 10}
    c = C(lambda x, q: x * d.get(q, 3))
    r = [c(x0(), K(1))]
    k.v = 2
    r.append(c(x0(), K(1)))
    r.append(c(x0(), K(2)))
    return r


@prog
def bool_len_order(C):
    class A:
        def __len__(self):
            return 0

    o = A()
    c = C(lambda x: x if o else x * 2)
    r = [c(x0())]
    A.__bool__ = lambda self: True
    r.append(c(x0()))
    del A.__bool__
    r.append(c(x0()))
    A.__len__ = lambda self: 4
    r.append(c(x0()))
    return r


@prog
def call_added(C):
    class A:
        def __call__(self, x):
            return x * 2

    o = A()
    c = C(lambda x: o(x))
    r = [c(x0())]
    o.__call__ = lambda x: x * 100
    r.append(c(x0()))
    A.__call__ = lambda self, x: x * 3
    r.append(c(x0()))
    A.__call__ = staticmethod(lambda x: x * 4)
    r.append(c(x0()))
    A.__call__ = functools.partial(lambda x: x * 5)
    r.append(c(x0()))
    return r


@prog
def cached_property_(C):
    class A:
        n = 0

        @functools.cached_property
        def p(self):
            self.n += 1
            return self.n

    o = A()
    c = C(lambda x: x * o.p)
    r = [c(x0()), c(x0())]
    del o.p
    r.append(c(x0()))
    o.__dict__["p"] = 50
    r.append(c(x0()))
    return r, o.n


@prog
def defaults_mutated(C):
    def g(x, a=[1], *, k={"z": 2}):
        return x * a[0] + k["z"]

    c = C(lambda x: g(x))
    r = [c(x0())]
    g.__defaults__[0][0] = 5
    r.append(c(x0()))
    g.__kwdefaults__["k"] = {"z": 9}
    r.append(c(x0()))
    g.__kwdefaults__["k"]["z"] = 10
    r.append(c(x0()))
    g.__defaults__ = ([7],)
    r.append(c(x0()))
    g.__kwdefaults__ = None
    r.append(told_whole(c, x0()))
    return r


@prog
def own_defaults_mutated(C):
    def g(x, a=[1], *, k={"z": 2}):
        a.append(1)
        return x * len(a) + k["z"]

    c = C(g)
    r = [c(x0()), c(x0())]
    g.__defaults__ = ([7, 8, 9],)
    r.append(c(x0()))
    g.__kwdefaults__ = {"k": {"z": 0}}
    r.append(c(x0()))
    return r


@prog
def code_swap(C):
    def g(x):
        return x * 2

    def h(x):
        return x * 3

    c = C(g)
    d = C(lambda x: g(x) + 1)
    r = [c(x0()), d(x0())]
    g.__code__ = h.__code__
    r += [c(x0()), d(x0())]
    return r


@prog
def annotations_read(C):
    def g(a: int):
        pass

    c = C(lambda x: (x + 1, g.__annotations__["a"].__name__, len(g.__annotations__)))
    r = [c(x0())]
    g.__annotations__["b"] = str
    r.append(c(x0()))
    return r
