"""Where attributes lie: instances, classes, functions, tensors, `__dict__`, slots; stored, read back, deleted."""

import functools
import itertools
import types

import weft
from tests.review.harness import prog, x0


@prog
def self_dict_write(C):
    class O:
        def __init__(self):
            self.k = 3

    o = O()

    def f(o, x):
        o.__dict__["k"] = 5
        return x * o.k

    f = C(f)
    r = f(o, x0())
    return r, o.k


@prog
def self_dict_update_ctor(C):
    class Cfg:
        def __init__(self, **kw):
            self.__dict__.update(kw)

    def f(x):
        c = Cfg(a=2, b=3)
        return x * c.a + c.b, c

    f = C(f)
    r, c = f(x0())
    return r, vars(c)


@prog
def vars_update(C):
    class O:
        pass

    o = O()

    def f(o, x):
        vars(o).update(a=4)
        return x + 1

    f = C(f)
    r = f(o, x0())
    return r, vars(o)


@prog
def class_attr_store_then_read(C):
    class O:
        k = 1

    o = O()

    def f(o, x):
        O.k = 5
        return x * o.k

    f = C(f)
    r = f(o, x0())
    return r, O.k


@prog
def type_self_counter(C):
    class O:
        n = 0

        def m(self, x):
            type(self).n += 1
            return x * self.n

    o = O()
    f = C(lambda o, x: o.m(x))
    return [f(o, x0()) for _ in range(3)], O.n


@prog
def function_attr_counter(C):
    global fhelper

    def fhelper(x):
        fhelper.n += 1
        return x * fhelper.n

    fhelper.n = 0
    f = C(lambda x: fhelper(x) + fhelper(x))
    return f(x0()), f(x0()), fhelper.n


@prog
def method_attr_counter(C):
    class O:
        def m(self, x):
            return x

    O.m.n = 0

    def f(x):
        O.m.n += 1
        O.m.n += 1
        return x * O.m.n

    f = C(f)
    return f(x0()), f(x0()), O.m.n


@prog
def del_new_attr(C):
    class O:
        pass

    o = O()

    def f(o, x):
        o.tmp = x
        y = o.tmp * 2
        del o.tmp
        return y

    return C(f)(o, x0()), vars(o)


@prog
def del_new_global(C):
    def f(x):
        global TMPG
        TMPG = x
        y = TMPG * 2
        del TMPG
        return y

    return C(f)(x0()), "TMPG" in globals()


@prog
def tensor_attr_lost(C):
    def f(x):
        y = x * 2
        y.tag = "t"
        return y

    return C(f)(x0()).tag


@prog
def dict_attr_write_inlined_init(C):
    class Cfg:
        def __init__(self, **k):
            self.__dict__.update(k)
            self.z = 1

    def f(x):
        c = Cfg(a=2)
        return x * (c.a if "a" in c.__dict__ else 7)

    return C(f)(x0())


@prog
def borg_dict_assign(C):
    class B:
        _s = {"k": 2}

        def __init__(self):
            self.__dict__ = self._s

    def f(x):
        b = B()
        b.k += 1
        return x * b.k

    f = C(f)
    return f(x0()), f(x0())


@prog
def class_counter_method(C):
    class R:
        count = 0

        @classmethod
        def bump(cls):
            cls.count += 1
            return cls.count

    f = C(lambda x: x * R.bump() + R.bump() + R.count)
    return f(x0()), R.count


@prog
def class_attr_via_instance_after_store(C):
    class R:
        reg = {}
        n = 0

    def f(x):
        R.n = R.n + 1
        R.reg["a"] = R.n
        r = R()
        return x * r.n + R.n + r.reg["a"] + getattr(r, "n") + R.__dict__["n"]

    return C(f)(x0()), R.n


@prog
def del_class_attr(C):
    class R:
        n = 3

    def f(x):
        a = R.n
        del R.n
        return x * a, hasattr(R, "n")

    return C(f)(x0())


@prog
def module_global_store_then_read(C):
    m = types.ModuleType("mq")
    m.k = 1
    exec("def get(): return k\ndef put(v):\n  global k\n  k = v", m.__dict__)

    def f(x):
        m.put(5)
        a = m.get()
        m.k = 7
        b = m.get()
        return x * a + b + m.k

    return C(f)(x0()), m.k


@prog
def setattr_on_function_then_call(C):
    def h(x):
        return x * h.k

    h.k = 2

    def f(x):
        h.k = 5
        a = h(x)
        h.__defaults__ = None
        return a, h.k

    return C(f)(x0()), h.k


@prog
def attr_del_then_class_default(C):
    class O:
        k = 9

    o = O()
    o.k = 2

    def f(x):
        a = o.k
        del o.k
        b = o.k
        o.k = 4
        return x * a + b + o.k, hasattr(o, "k")

    return C(f)(x0()), o.k


@prog
def generator_state_shared(C):
    def g():
        for i in range(10):
            yield i

    it = g()
    f = C(lambda x: x * next(it))
    return [f(x0()) for _ in range(3)], next(it)


@prog
def count_global_iter(C):
    it = itertools.count(5)
    f = C(lambda x: x * next(it))
    return [f(x0()) for _ in range(3)], next(it)


@prog
def zip_obj_attr_iter(C):
    class O:
        pass

    o = O()
    o.it = iter(zip([1, 2, 3], "abc"))
    f = C(lambda x: (x * 2, next(o.it)))
    return [f(x0()) for _ in range(2)], list(o.it)


@prog
def partial_bound_state(C):
    l = []
    p = functools.partial(l.append, 3)
    f = C(lambda x: (x * 2, p()))
    return f(x0()), f(x0()), l


@prog
def method_of_container_stored(C):
    d = {}
    put = d.__setitem__
    l = [3, 1]
    srt = l.sort
    ap = l.append

    def f(x):
        put("a", x.shape[0])
        ap(2)
        srt()
        return x * len(d), list(l)

    f = C(f)
    return f(x0()), f(x0()), d, l


@prog
def tensor_attr_user(C):
    x = x0()
    x.tag = 3

    def f(x):
        y = x * x.tag
        x.tag = 4
        y.note = "n"
        return y, y.note, hasattr(x, "zz")

    f = C(f)
    r = f(x)
    return r, x.tag, getattr(r[0], "note", None), f(x)[0]


@prog
def global_counter_many(C):
    global GC1, GC2
    GC1, GC2 = 0, []

    def inc():
        global GC1
        GC1 += 1
        GC2.append(GC1)
        return GC1

    f = C(lambda x: x * inc() + inc())
    return [f(x0()) for _ in range(3)], GC1, GC2


@prog
def slots_obj_values(C):
    class S:
        __slots__ = ("t", "k")

        def __init__(self, t, k):
            self.t, self.k = t, k

    f = C(lambda s: s.t * s.k)
    out = []
    for i in range(60):
        s = S(weft.full((i % 3 + 1,), float(i)), float(i % 5))
        out.append(f(s))
        del s
    return out


@prog
def cached_property_then_deleted(C):
    n = [0]

    class K:
        @functools.cached_property
        def p(self):
            n[0] += 1
            return n[0]

    o = K()
    f = C(lambda x: x * o.p)
    a = f(x0())
    b = f(x0())
    del o.p
    return a, b, f(x0()), n


@prog
def wrapped_function_attr(C):
    def deco(fn):
        @functools.wraps(fn)
        def w(*a):
            return fn(*a) * w.scale

        w.scale = 2
        return w

    @deco
    def h(x):
        return x + 1

    f = C(lambda x: h(x))
    a = f(x0())
    h.scale = 5
    b = f(x0())
    h.__wrapped__ = None
    return a, b, f(x0())


@prog
def class_slots_mod(C):
    class K:
        __slots__ = ("a",)

    o = K()
    o.a = 2
    f = C(lambda x: x * o.a if hasattr(o, "a") else x)
    a = f(x0())
    o.a = 9
    b = f(x0())
    del o.a
    return a, b, f(x0())


@prog
def delete_things(C):
    def f(x, d, l, o):
        del d["a"]
        del l[0]
        del o.z
        y = x + 1
        del x
        print("b")
        try:
            x
        except UnboundLocalError:
            return y, d, l, hasattr(o, "z")

    class O:
        pass

    o = O()
    o.z = 1
    return C(f)(x0(), {"a": 1, "b": 2}, [1, 2], o)


@prog
def global_stmt_break(C):
    def f(x):
        global GG
        GG = x + 1
        print("b", GG.sum())
        GG = GG * 2
        return GG

    return C(f)(x0()), GG
