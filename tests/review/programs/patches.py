"""Functions, methods and classes of the program, the library and Python replaced between two calls."""

import builtins
import collections
import dataclasses
import enum
import functools
import math
import os
import random
import time
import unittest.mock

import weft
from tests.review.harness import prog, x0
from weft import nn

F = nn.functional


@prog
def builtin_shadowed(C):
    f = C(lambda x: x * len([1, 2]))
    a = f(x0())
    globals()["len"] = lambda l: 7
    try:
        b = f(x0())
    finally:
        del globals()["len"]
    return a, b, f(x0())


@prog
def builtins_patched(C):
    f = C(lambda x: x * len([1, 2]))
    a = f(x0())
    old = builtins.len
    builtins.len = lambda l: 7
    try:
        b = f(x0())
    finally:
        builtins.len = old
    return a, b


@prog
def patch_functional(C):
    f = C(lambda x: F.relu(x - 1) + weft.sin(x))
    a = f(x0())
    with unittest.mock.patch.object(F, "relu", lambda x: x * 100):
        b = f(x0())
    return a, b, f(x0())


@prog
def patch_torch_fn(C):
    f = C(lambda x: weft.sin(x))
    a = f(x0())
    with unittest.mock.patch.object(weft, "sin", lambda x: x * 100):
        b = f(x0())
    return a, b


@prog
def patch_stdlib_fn(C):
    f = C(lambda x: x * math.sqrt(4) * math.pi)
    a = f(x0())
    with unittest.mock.patch.object(math, "sqrt", lambda v: 100.0):
        b = f(x0())
    with unittest.mock.patch.object(math, "pi", 3.0):
        c = f(x0())
    return a, b, c


@prog
def patch_layer_class(C):
    m = nn.Sequential(nn.Linear(4, 4, bias=False), nn.ReLU())
    nn.init.ones_(m[0].weight)
    f = C(lambda x: m(x))
    a = f(x0())
    with unittest.mock.patch.object(nn.Linear, "forward", lambda self, x: x * 100):
        b = f(x0())
    with unittest.mock.patch.object(nn.ReLU, "forward", lambda self, x: x * 7):
        c = f(x0())
    return a, b, c


@prog
def patch_compiled_layer_class(C):
    m = nn.Linear(4, 4, bias=False)
    nn.init.ones_(m.weight)
    c = C(m)
    a = c(x0())
    with unittest.mock.patch.object(nn.Linear, "forward", lambda self, x: x * 100):
        b = c(x0())
    return a, b


@prog
def patch_functools(C):
    f = C(lambda x: x * functools.reduce(lambda a, b: a + b, [1, 2, 3]))
    a = f(x0())
    with unittest.mock.patch.object(functools, "reduce", lambda f, l: 50):
        b = f(x0())
    return a, b


@prog
def time_random_env(C):
    os.environ["RVW"] = "2"
    f = C(lambda x: x * int(os.environ["RVW"]) + int(os.environ.get("RVW", 0)) + int(os.getenv("RVW")))
    a = f(x0())
    os.environ["RVW"] = "5"
    b = f(x0())
    random.seed(1)
    g = C(lambda x: x * random.random() + random.randint(1, 10))
    c = [g(x0()) for _ in range(3)]
    t = C(lambda x: (x + 1, time.time()))
    d = t(x0())[1]
    time.sleep(0.01)
    return a, b, c, t(x0())[1] > d


@prog
def super_chain_patched(C):
    class A:
        def m(self, x):
            return x * 2

    class B(A):
        def m(self, x):
            return super().m(x) + 1

    o = B()
    f = C(lambda x: o.m(x))
    a = f(x0())
    A.m = lambda self, x: x * 50
    return a, f(x0())


@prog
def init_patched(C):
    class K:
        def __init__(self, v):
            self.v = v

    f = C(lambda x: x * K(2).v)
    a = f(x0())

    def init2(self, v):
        self.v = v * 10

    K.__init__ = init2
    return a, f(x0())


@prog
def new_patched(C):
    class K:
        def __new__(cls, v):
            o = object.__new__(cls)
            o.v = v
            return o

    f = C(lambda x: x * K(2).v)
    a = f(x0())

    def new2(cls, v):
        o = object.__new__(cls)
        o.v = v * 10
        return o

    K.__new__ = staticmethod(new2)
    return a, f(x0())


@prog
def init_added(C):
    class K:
        v = 2

    f = C(lambda x: x * K().v)
    a = f(x0())
    K.__init__ = lambda self: setattr(self, "v", 9)
    return a, f(x0())


@prog
def super_classmethod_patched(C):
    class A:
        @classmethod
        def k(cls):
            return 2

    class B(A):
        @classmethod
        def k(cls):
            return super().k() + 1

    f = C(lambda x: x * B.k())
    a = f(x0())
    A.k = classmethod(lambda cls: 50)
    return a, f(x0())


@prog
def super_mro_inserted(C):
    class A:
        def m(self):
            return 1

    class B(A):
        pass

    class D(B):
        def m(self):
            return super().m() + 1

    d = D()
    f = C(lambda x: x * d.m())
    a = f(x0())
    B.m = lambda self: 100
    return a, f(x0())


@prog
def metaclass_method_patched(C):
    class Meta(type):
        def mk(cls):
            return 2

    class K(metaclass=Meta):
        pass

    f = C(lambda x: x * K.mk())
    a = f(x0())
    Meta.mk = lambda cls: 9
    return a, f(x0())


@prog
def staticmethod_patched(C):
    class K:
        @staticmethod
        def s():
            return 2

    o = K()
    f = C(lambda x: x * o.s() * K.s())
    a = f(x0())
    K.s = staticmethod(lambda: 5)
    return a, f(x0())


@prog
def method_added_to_instance(C):
    class K:
        def m(self):
            return 2

    o = K()
    f = C(lambda x: x * o.m())
    a = f(x0())
    o.m = lambda: 7
    return a, f(x0())


@prog
def contextmanager_class_patched(C):
    class CM:
        def __enter__(self):
            return 2

        def __exit__(self, *a):
            return False

    cm = CM()

    def f(x):
        with cm as k:
            return x * k

    f = C(f)
    a = f(x0())
    CM.__enter__ = lambda self: 9
    return a, f(x0())


@prog
def iter_class_patched(C):
    class It:
        def __iter__(self):
            return iter([1, 2])

        def __len__(self):
            return 2

        def __getitem__(self, k):
            return 3

        def __call__(self):
            return 4

        def __contains__(self, k):
            return True

    it = It()
    f = C(lambda x: x * sum(it) + len(it) + it[0] + it() + (5 in it))
    a = f(x0())
    It.__iter__ = lambda self: iter([10])
    b = f(x0())
    It.__len__ = lambda self: 50
    c = f(x0())
    It.__getitem__ = lambda self, k: 60
    d = f(x0())
    It.__call__ = lambda self: 70
    e = f(x0())
    It.__contains__ = lambda s, k: False
    return a, b, c, d, e, f(x0())


@prog
def exception_class_patched(C):
    class E(Exception):
        def __init__(self, k):
            self.k = k

    def f(x):
        try:
            raise E(2)
        except E as e:
            return x * e.k

    f = C(f)
    a = f(x0())

    def i2(self, k):
        self.k = 9

    E.__init__ = i2
    return a, f(x0())


@prog
def dataclass_default_changed(C):
    @dataclasses.dataclass
    class D:
        a: int = 2

    f = C(lambda x: x * D().a)
    a = f(x0())
    D.__init__.__defaults__ = (9,)
    return a, f(x0())


@prog
def enum_member_value(C):
    class Col(enum.Enum):
        R = 1

    f = C(lambda x: x * Col.R.value)
    a = f(x0())
    Col.R._value_ = 9
    return a, f(x0())


@prog
def namedtuple_method_patched(C):
    class P(collections.namedtuple("P", "a")):
        def m(self):
            return self.a

    p = P(2)
    f = C(lambda p, x: x * p.m())
    a = f(p, x0())
    P.m = lambda self: 9
    return a, f(p, x0())


@prog
def descriptor_get_patched(C):
    class D:
        def __get__(self, i, o):
            return 2

    class K:
        d = D()

    o = K()
    f = C(lambda x: x * o.d)
    a = f(x0())
    D.__get__ = lambda s, i, o: 9
    return a, f(x0())


@prog
def partial_args_mutated(C):
    l = [2]
    p = functools.partial(lambda l, x: x * l[0], l)
    f = C(lambda x: p(x))
    a = f(x0())
    l[0] = 9
    b = f(x0())
    p.keywords["q"] = 1
    try:
        c = f(x0())
    except TypeError:
        c = "TE"
    return a, b, c
