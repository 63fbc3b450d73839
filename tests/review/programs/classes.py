"""Classes: descriptors, metaclasses, inheritance, super(), what is asked of them."""

import abc
import collections.abc
import copy
import dataclasses
import sys
import types
import typing
import unittest.mock
import weakref

import weft
from tests.review.harness import prog, told, x0


@prog
def match_stmt(C):
    @dataclasses.dataclass
    class Pt:
        x: int
        y: int

    def f(v, x):
        match v:
            case {"k": k, **rest}:
                return x * k, rest
            case [a, b, *r]:
                return x + a + b, r
            case Pt(x=0, y=q):
                return x - q, "pt0"
            case Pt(p, q) if p > q:
                return x * p, "gt"
            case int() | float() as n:
                return x + n, "n"
            case "s" | "t":
                return x, "str"
            case None:
                return x, None
            case _:
                return x, "?"

    f = C(f)
    return [f(v, x0()) for v in ({"k": 2, "z": 1}, [1, 2, 3, 4], (5, 6), Pt(0, 4), Pt(4, 1), Pt(1, 4), 3, 2.5, "s", None, b"q")]


@prog
def metaclass_stuff(C):
    class Meta(type):
        def __call__(cls, *a):
            o = super().__call__(*a)
            o.via = "meta"
            return o

        def __instancecheck__(cls, i):
            return getattr(i, "duck", False)

        def __getattr__(cls, n):
            return 42 if n == "magic" else super().__getattribute__(n)

        def __len__(cls):
            return 3

        def __iter__(cls):
            return iter([1, 2])

        def __contains__(cls, v):
            return v == 7

        def __getitem__(cls, k):
            return k * 2

    class A(metaclass=Meta):
        def __init__(self, v=1):
            self.v = v

    class D:
        duck = True

    d = D()

    def f(x):
        return x * A(3).v, A().via, isinstance(d, A), A.magic, len(A), list(A), 7 in A, A[4]

    return C(f)(x0())


@prog
def protocol_isinstance(C):
    @typing.runtime_checkable
    class HasK(typing.Protocol):
        k: int

    class O:
        pass

    o = O()
    f = C(lambda o, x: x * 2 if isinstance(o, HasK) else x * 3)
    a = f(o, x0())
    o.k = 1
    b = f(o, x0())
    return a, b


@prog
def descriptors(C):
    class Desc:
        def __set_name__(self, o, n):
            self.n = "_" + n

        def __get__(self, i, o):
            return self if i is None else getattr(i, self.n, 0) + 1

        def __set__(self, i, v):
            setattr(i, self.n, v * 2)

        def __delete__(self, i):
            delattr(i, self.n)

    class O:
        d = Desc()
        __slots__ = ("_d", "z", "__dict__")

    o = O()

    def f(o, x):
        o.d = 3
        a = o.d
        o.z = 5
        b = o.z
        del o.d
        return x * a + b + o.d, hasattr(o, "_d")

    f = C(f)
    return f(o, x0()), f(o, x0()), o.z


@prog
def super_getattr_class_value(C):
    class A:
        k = 2

        @property
        def p(self):
            return self.k * 2

        @classmethod
        def c(cls):
            return cls.k

        @staticmethod
        def s(v):
            return v + 1

    class B(A):
        k = 3

        def m(self, x):
            return x * super().k + super().p + super().c() + super().s(1)

    o = B()
    f = C(lambda x: o.m(x))
    a = f(x0())
    A.k = 10
    b = f(x0())
    A.p = property(lambda self: 100)
    return a, b, f(x0())


@prog
def isinstance_abc_register(C):

    class AB(abc.ABC):
        pass

    class T:
        pass

    t = T()
    f = C(lambda x: x * 2 if isinstance(t, AB) else x * 3)
    a = f(x0())
    AB.register(T)
    return a, f(x0())


@prog
def init_subclass_new(C):
    class R:
        reg = []

        def __init_subclass__(cls, tag=None):
            cls.reg.append(tag)

        def __new__(cls, *a):
            o = super().__new__(cls)
            o.n = len(a)
            return o

        def __init__(self, *a):
            self.a = a

    class S(R, tag="s"):
        pass

    def f(x):
        o = S(1, 2)
        return x * o.n + sum(o.a), R.reg

    return C(f)(x0())


@prog
def class_in_function(C):
    def f(x):
        class L:
            k = 3

            def m(self):
                return self.k

        return x * L().m()

    return C(f)(x0())


@prog
def class_cell_super_break(C):
    class A:
        def m(self, x):
            return x + 1

    class B(A):
        def m(self, x):
            print("b")
            return super().m(x) * 2

    return C(B().m)(x0())


@prog
def super_classmethod_from_instance(C):
    class A:
        @classmethod
        def make(cls):
            return cls.__name__

    class B(A):
        def m(self, x):
            return x * 2, super().make()

    return C(B().m)(x0())


@prog
def isinstance_mock(C):

    class T:
        k = 3

    m = unittest.mock.Mock(spec=T)
    m.k = 4
    f = C(lambda m, x: x * m.k if isinstance(m, T) else x)
    return f(m, x0())


@prog
def method_types(C):
    class A:
        k = 2

        def __init__(self):
            self.v = 3

        @C
        def m(self, x):
            return x * self.v

        @classmethod
        @C
        def c(cls, x):
            return x * cls.k

        @staticmethod
        @C
        def s(x):
            return x + 1

        @property
        @C
        def p(self):
            return weft.ones(2) * self.v

        def __call__(self, x):
            return x - self.v

    class B(A):
        k = 5

    a, b = A(), B()
    b.v = 7
    return a.m(x0()), b.m(x0()), A.c(x0()), b.c(x0()), a.s(x0()), b.p, C(a)(x0()), C(b.m)(x0()), A.m.__name__, A.m.__doc__


@prog
def type_instancecheck_asks_no_other_hook(C):
    class Meta(type):
        def __instancecheck__(cls, o):
            return True

        def __subclasscheck__(cls, c):
            return True

    class A(metaclass=Meta):
        pass

    def f(x, o):
        return x + isinstance(o, A), isinstance(o, (int, A)), issubclass(type(o), A)

    f = C(f)
    told = [f(x0(), "s"), f(x0(), "s")]
    del Meta.__instancecheck__
    told += [f(x0(), "s"), f(x0(), A())]
    del Meta.__subclasscheck__
    return told + [f(x0(), "s"), f(x0(), A())]


@prog
def names_in_messages_of_calls(C):
    @dataclasses.dataclass
    class A:
        a: int

    def g(a):
        return a

    def f(x, *args):
        try:
            return x, g(*args)
        except TypeError as e:
            return x + 1, str(e)

    h = C(f)
    told = [h(x0()), h(x0(), 1)]
    g.__qualname__ = "renamed"
    told.append(h(x0()))

    def make(x):
        try:
            return A()
        except TypeError as e:
            return x + 1, str(e)

    return told + [C(make)(x0())]


@prog
def module_in_the_message_of_an_attribute(C):
    module = types.ModuleType("named")

    def f(x):
        try:
            return x + module.nothing
        except AttributeError as e:
            return x + 1, str(e)

    f = C(f)
    told = [f(x0()), f(x0())]
    module.__name__ = "renamed"
    told.append(f(x0()))
    del module.__name__
    return told + [f(x0())]


@prog
def abstract_by_a_hook_of_the_metaclass(C):
    class Meta(type):
        def __getattr__(cls, name):
            return name

    class A(metaclass=Meta):
        pass

    def f(x):
        return x, type(A()).__name__, A.zip

    return C(f)(x0())


@prog
def refused_by_name(C):
    class A:
        @property
        def p(self):
            return 1

        def __index__(self):
            return "no"

    def f(x, how):
        try:
            if how == 0:
                A().p = 1
            if how == 1:
                del A().p
            if how == 2:
                return [1, 2][A()]
            if how == 3:
                return int.__new__(str)
        except (AttributeError, TypeError) as e:
            return x + 1, str(e)

    f = C(f)
    return [f(x0(), how) for how in range(4)]


@prog
def metaclasses_that_compare(C):
    class Alike(type):
        def __eq__(cls, other):
            return True

        def __hash__(cls):
            return 3

        def __instancecheck__(cls, obj):
            return obj == 5 or type.__instancecheck__(cls, obj)

    class Unhashable(type):
        def __eq__(cls, other):
            return cls is other

    def made(meta):
        class Base(metaclass=meta):
            k = 1

            def __init__(self, v=1):
                self.v = v

            def m(self):
                return self.v

        class Sub(Base):
            def m(self):
                return super().m(), super(Sub, self).m()

        def f(x, n, o):
            class Inner(Base):
                q = 4

            r = [x + Base(n).v, isinstance(n, Base), isinstance(o, (int, Base)), o.m(), o.k, Base == Sub, Base in (int, Sub), Inner().q]
            return r, type(o) is Sub, o == o, {o: 1}[o], told(lambda: copy.copy(o).v), told(lambda: {Base: 1}[Base]), told(lambda: hash(Sub) % 7)

        c = C(f)
        return [c(x0(), n, Sub(n)) for n in (1, 5)]

    return made(Alike), [m[:-1] for m in made(Unhashable)]


class Real:
    def m(self):
        return "real"


@prog
def objects_say_of_what_class_they_are(C):
    asked = []

    class ByProperty:
        @property
        def __class__(self):
            return Real

    class ByHook:
        def __getattribute__(self, name):
            asked.append(name)
            return Real if name == "__class__" else object.__getattribute__(self, name)

    class ByAttribute:
        __class__ = Real

    class Mapped:
        __class__ = property(lambda self: dict)

    class Never(type):
        def __instancecheck__(cls, obj):
            return False

    class Denied(metaclass=Never):
        pass

    def matched(o):
        match o:
            case Real():
                return "real"
            case dict():
                return "dict"

    def f(x, o):
        classes = isinstance(o, Real), isinstance(o, int), isinstance(o, (int, Real)), isinstance(o, collections.abc.Mapping)
        return x + 1, classes, matched(o), told(lambda: super(Real, o).m()), isinstance(o, Denied), type(o) is Real

    kept = Real()
    objects = [ByProperty(), ByHook(), ByAttribute(), Mapped(), weakref.proxy(kept), unittest.mock.Mock(spec=Real), Denied(), kept]
    results = [C(f)(x0(), o)[:5] for o in objects]
    return results, asked if sys.version_info < (3, 12) else set(asked)  # how often super() asks changes there as code gets warm
