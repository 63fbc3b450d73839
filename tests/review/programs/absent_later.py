"""Modules, builtins, class pointers, hooks and functions that change between two calls."""

import builtins
import collections
import functools
import sys
import types

import weft
from tests.review.harness import prog, told, x0


@prog
def module_getattr_and_module_class(C):
    m = types.ModuleType("m")
    c = C(lambda x: x * getattr(m, "k", 2))
    r = [c(x0())]
    m.__getattr__ = lambda n: 5
    r.append(c(x0()))

    class M(types.ModuleType):
        @property
        def k(self):
            return 8

    m.__class__ = M
    r.append(c(x0()))
    m.__dict__["k"] = 3
    r.append(c(x0()))
    return r


@prog
def builtin_name_shadowed_and_unshadowed(C):
    space = {"weft": weft, "__builtins__": builtins}
    exec("def f(x):\n    return x * len([1, 2]) + max(1, 2)", space)
    c = C(space["f"])
    r = [c(x0())]
    space["len"] = lambda v: 10
    r.append(c(x0()))
    del space["len"]
    r.append(c(x0()))
    space["max"] = lambda *a: 0
    r.append(c(x0()))
    return r


@prog
def own_builtins_of_a_function(C):
    space = {"__builtins__": {"len": lambda v: 4}}
    exec("def f(x):\n    return x * len([1])", space)
    c = C(space["f"])
    r = [c(x0())]
    space["__builtins__"]["len"] = lambda v: 5
    r.append(c(x0()))
    del space["__builtins__"]["len"]
    r.append(told(c, x0()))
    return r


@prog
def class_of_an_instance_assigned_back_and_forth(C):
    class A:
        k = 1

        def g(self, x):
            return x + self.k

    class B(A):
        k = 2

        def g(self, x):
            return super().g(x) * 10

    o = A()
    c = C(lambda x: (o.g(x), isinstance(o, B), type(o).__name__))
    r = [c(x0())]
    o.__class__ = B
    r.append(c(x0()))
    o.__class__ = A
    r.append(c(x0()))
    return r


@prog
def class_property_lies(C):
    class A:
        pass

    class B:
        pass

    o = A()
    c = C(lambda x: (x + isinstance(o, B), o.__class__.__name__, type(o) is A))
    r = [c(x0())]
    A.__class__ = property(lambda s: B)
    r.append(c(x0()))
    return r


@prog
def kinds_in_a_global_change(C):
    import abc

    class I(abc.ABC):
        pass

    class A:
        pass

    space = {"kinds": (I, int)}
    o = A()
    exec("def f(x, o):\n    return x + 1 if isinstance(o, kinds) else x - 1", space)
    c = C(space["f"])
    r = [c(x0(), o)]
    I.register(A)
    r.append(c(x0(), o))
    space["kinds"] = int
    r.append(c(x0(), o))
    space["kinds"] = int | A
    r.append(c(x0(), o))
    return r


@prog
def subclasshook_changes_its_mind(C):
    import abc

    class I(abc.ABC):
        answer = False

        @classmethod
        def __subclasshook__(cls, k):
            return cls.answer

    class A:
        pass

    class A2:
        pass

    o = A()
    c = C(lambda x, o: x + 1 if isinstance(o, I) else x - 1)
    r = [c(x0(), o), c(x0(), A2())]
    I.answer = True
    r.append(c(x0(), o))
    I.register(int)
    r.append(c(x0(), o))
    return r


@prog
def getattribute_added_to_the_base_later(C):
    class A:
        pass

    class B(A):
        def __init__(self):
            self.k = 2

    o = B()
    c = C(lambda x: x * o.k)
    r = [c(x0())]
    seen = []

    def look(self, n):
        seen.append(n)
        return object.__getattribute__(self, n)

    A.__getattribute__ = look
    r.append(c(x0()))
    r.append(c(x0()))
    del A.__getattribute__
    r.append(c(x0()))
    return r, seen


@prog
def delattr_and_setattr_hooks_added(C):
    class A:
        pass

    log = []

    def f(x, o):
        o.a = 1
        del o.a
        return x + 1

    c = C(f)
    r = [c(x0(), A())]
    A.__setattr__ = lambda s, n, v: (log.append(n), object.__setattr__(s, n, v))[1]
    r.append(c(x0(), A()))
    A.__delattr__ = lambda s, n: log.append("del " + n)
    o = A()
    r.append(c(x0(), o))
    return r, log, vars(o)


@prog
def data_descriptor_loses_its_setter(C):
    class D:
        def __get__(self, o, t):
            return 4

        def __set__(self, o, v):
            o.__dict__["seen"] = v

    class A:
        d = D()

    def f(x, o):
        o.d = 3
        return x * o.d

    c = C(f)
    a, b, d = A(), A(), A()
    r = [c(x0(), a)]
    del D.__set__
    r.append(c(x0(), b))
    del D.__get__
    r.append(c(x0(), d))
    return r, [sorted(vars(o)) for o in (a, b, d)]


@prog
def cached_property_of_a_class_replaced(C):
    class A:
        n = 0

        @functools.cached_property
        def k(self):
            A.n += 1
            return A.n * 2

    o = A()
    c = C(lambda x, o: x * o.k)
    r = [c(x0(), o), c(x0(), o)]
    del o.k
    r.append(c(x0(), o))
    A.k = functools.cached_property(lambda s: 100)
    r.append(told(c, x0(), o))
    del o.__dict__["k"]
    r.append(told(c, x0(), o))
    return r, A.n


@prog
def annotations_and_qualname_changed(C):
    def g(x: int):
        return x

    c = C(lambda x: (x + len(g.__annotations__), g.__qualname__, g.__name__, g.__doc__, g.__module__, g.__kwdefaults__))
    r = [c(x0())]
    g.__annotations__["y"] = 1
    g.__qualname__ = "q"
    r.append(c(x0()))
    g.__doc__ = "d"
    g.__name__ = "n"
    g.__module__ = "mm"
    r.append(c(x0()))
    g.__annotations__ = {}
    r.append(c(x0()))
    return r


@prog
def default_factory_changed(C):
    d = collections.defaultdict(lambda: 2)
    c = C(lambda x, k: x * d[k])
    r = [c(x0(), "a")]
    d.default_factory = lambda: 3
    r.append(c(x0(), "b"))
    d.default_factory = None
    r.append(told(c, x0(), "c"))
    r.append(c(x0(), "a"))
    return r, dict(d)


@prog
def unions_of_types(C):
    class A:
        pass

    c = C(lambda x, o: x + isinstance(o, (int | None)) + 2 * isinstance(o, A | str))
    return [c(x0(), v) for v in (1, None, A(), "s", 1.5, True)]


@prog
def attribute_error_fields(C):
    class M(type):
        pass

    class A:
        pass

    class B(metaclass=M):
        pass

    def f(x, o):
        try:
            o.absent
        except AttributeError as e:
            return x, e.name, e.obj is o, str(e)

    c = C(f)
    return [c(x0(), o) for o in (A(), A, B, types.SimpleNamespace(), types, 3, f, sys)]


@prog
def metaclass_getattribute_calls_super(C):
    class M(type):
        def __getattribute__(cls, n):
            seen.append(n)
            return super().__getattribute__(n)

        def __getattr__(cls, n):
            return n + "!"

    class A(metaclass=M):
        k = 3

        @classmethod
        def g(cls):
            return cls.k

    seen = []
    c = C(lambda x: (x * A.k, A.absent, A.g(), hasattr(A, "zz")))
    return c(x0()), c(x0()), [n for n in seen if not n.startswith("__")]


@prog
def special_method_set_to_none(C):
    class A:
        def __len__(self):
            return 1

    def tried(x, o):
        out = []
        for g in (lambda: bool(o), lambda: len(o), lambda: o[0], lambda: iter(o), lambda: 3 in o, lambda: o + 1, lambda: -o, lambda: o(), lambda: hash(o)):
            try:
                out.append(g())
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return x, out

    c = C(tried)
    r = [c(x0(), A())[1][:2]]
    for name in ("__len__", "__getitem__", "__iter__", "__contains__", "__add__", "__neg__", "__call__", "__hash__", "__bool__"):
        setattr(A, name, None)
        r.append(c(x0(), A())[1])
    return [[v if isinstance(v, (tuple, bool)) else 0 for v in row] for row in r]
