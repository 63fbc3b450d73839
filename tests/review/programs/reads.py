"""What a program reads changes between two calls: attributes, hooks, globals, flags, items."""

import sys

import weft
from tests.review.harness import norm, prog, x0


@prog
def global_set_mutated(C):
    S = {1, 2}
    ns = {}
    global GS
    GS = {1, 2}
    f = C(lambda x: x * len(GS))
    a = f(x0())
    GS.add(3)
    b = f(x0())
    return a, b


@prog
def global_set_contains(C):
    global GS2
    GS2 = {"a"}

    def f(x):
        return x * 2 if "b" in GS2 else x

    f = C(f)
    a = f(x0())
    GS2.add("b")
    b = f(x0())
    return a, b


@prog
def getattr_hook_then_instance(C):
    class O:
        def __getattr__(self, n):
            return 1.0

    o = O()
    f = C(lambda o, x: x * o.scale)
    a = f(o, x0())
    o.scale = 5.0
    b = f(o, x0())
    return a, b


@prog
def getattr_hook_replaced(C):
    class O:
        def __getattr__(self, n):
            return 1.0

    o = O()
    f = C(lambda o, x: x * o.scale)
    a = f(o, x0())
    O.__getattr__ = lambda self, n: 7.0
    b = f(o, x0())
    return a, b


@prog
def getattr_hook_then_class_attr(C):
    class O:
        def __getattr__(self, n):
            return 1.0

    o = O()
    f = C(lambda o, x: x * o.scale)
    a = f(o, x0())
    O.scale = 7.0
    b = f(o, x0())
    return a, b


@prog
def setattr_hook_replaced(C):
    class O:
        def __setattr__(self, n, v):
            object.__setattr__(self, n, v)

    o = O()

    def f(o, x):
        o.y = 2
        return x * o.y

    f = C(f)
    a = f(o, x0())
    O.__setattr__ = lambda self, n, v: object.__setattr__(self, n, v * 10)
    b = f(o, x0())
    return a, b


@prog
def property_setter_replaced(C):
    class O:
        def __init__(self):
            self._y = 0

        @property
        def y(self):
            return self._y

        @y.setter
        def y(self, v):
            self._y = v

    o = O()

    def f(o, x):
        o.y = 2
        return x * o._y

    f = C(f)
    a = f(o, x0())
    O.y = property(lambda self: self._y, lambda self, v: setattr(self, "_y", v * 10))
    b = f(o, x0())
    return a, b


@prog
def dunder_added_later(C):
    class O:
        pass

    o = O()

    def f(o, x):
        return x * 2 if o else x * 3

    f = C(f)
    a = f(o, x0())
    O.__bool__ = lambda self: False
    b = f(o, x0())
    return a, b


@prog
def dunder_eq_added_later(C):
    class O:
        pass

    o, p = O(), O()

    def f(o, p, x):
        return x * 2 if o == p else x * 3

    f = C(f)
    a = f(o, p, x0())
    O.__eq__ = lambda self, other: True
    b = f(o, p, x0())
    return a, b


@prog
def function_code_swapped(C):
    global helper

    def helper(x):
        return x * 2

    def other(x):
        return x * 3

    f = C(lambda x: helper(x))
    a = f(x0())
    helper.__code__ = other.__code__
    b = f(x0())
    return a, b


@prog
def method_code_swapped(C):
    class O:
        def m(self, x):
            return x * 2

    def other(self, x):
        return x * 3

    o = O()
    f = C(lambda o, x: o.m(x))
    a = f(o, x0())
    O.m.__code__ = other.__code__
    b = f(o, x0())
    return a, b


@prog
def grad_mode_before_break(C):
    def f(x):
        a = 1 if weft.is_grad_enabled() else 2
        print("break")
        return x * a

    f = C(f)
    r = f(x0())
    with weft.no_grad():
        s = f(x0())
    return r, s


@prog
def default_dtype_before_break(C):
    def f(x):
        a = weft.get_default_dtype()
        print("break")
        return x.to(a)

    f = C(f)
    r = f(x0())
    weft.set_default_dtype(weft.float64)
    try:
        s = f(x0())
    finally:
        weft.set_default_dtype(weft.float32)
    return r, s


@prog
def leafness(C):
    f = C(lambda x: x * 2 if x.is_leaf else x * 3)
    a = weft.ones(3, requires_grad=True)
    return f(a), f(a * 1)


@prog
def grad_fn_none(C):
    f = C(lambda x: x * 2 if x.grad_fn is None else x * 3)
    a = weft.ones(3, requires_grad=True)
    return f(a), f(a * 1)


@prog
def leaf_inplace(C):
    def f(x):
        x.add_(1)
        return x * 2

    f = C(f)
    a = weft.ones(3, requires_grad=True)
    r = f(a * 1)
    return r, f(a)


@prog
def fn_is_same_code(C):
    def make(k):
        return lambda x: x * k

    global H1
    H1, h2 = make(2), make(2)

    def f(fn, x):
        return fn(x) * 10 if fn is H1 else fn(x)

    f = C(f)
    return f(h2, x0()), f(H1, x0())


@prog
def fn_as_key_same_code(C):
    def make(k):
        return lambda x: x * k

    global TBL
    a, b = make(2), make(2)
    TBL = {a: 1.0, b: 100.0}
    f = C(lambda fn, x: fn(x) * TBL[fn])
    return f(a, x0()), f(b, x0())


@prog
def fn_name_same_code(C):
    def make(name):
        def g(x):
            return x

        g.__name__ = name
        return g

    f = C(lambda fn, x: fn(x) * (2 if fn.__name__ == "a" else 3))
    return f(make("a"), x0()), f(make("b"), x0())


@prog
def global_type_flips(C):
    global GV
    f = C(lambda x: (x * GV, type(GV).__name__))
    out = []
    for v in (1, True, 1.0, 2, 2.0, 0.0, -0.0, float("nan"), float("inf"), 10**20, False, 1):
        GV = v
        try:
            out.append(repr(norm(f(x0()))))
        except Exception as e:
            out.append(repr(e))
    return out


@prog
def base_class_attr(C):
    class A:
        k = 1

    class B(A):
        pass

    class D(B):
        pass

    o = D()
    f = C(lambda x: x * o.k)
    out = [f(x0())]
    A.k = 2
    out.append(f(x0()))
    B.k = 3
    out.append(f(x0()))
    o.k = 4
    out.append(f(x0()))
    del o.k
    out.append(f(x0()))
    del B.k
    out.append(f(x0()))
    D.k = property(lambda self: 9)
    out.append(f(x0()))
    return out


@prog
def bases_changed(C):
    class A1:
        k = 1

    class A2:
        k = 2

    class B(A1):
        pass

    o = B()
    f = C(lambda x: x * o.k)
    a = f(x0())
    B.__bases__ = (A2,)
    return a, f(x0())


@prog
def sys_argv_rebound(C):
    f = C(lambda x: x * len(sys.argv))
    a = f(x0())
    old = sys.argv
    sys.argv = ["a"] * 9
    try:
        b = f(x0())
    finally:
        sys.argv = old
    return a, b


@prog
def num_threads(C):
    f = C(lambda x: x * weft.get_num_threads())
    n = weft.get_num_threads()
    a = f(x0())
    weft.set_num_threads(n + 1)
    try:
        return a / n, f(x0()) / n
    finally:
        weft.set_num_threads(n)


@prog
def getrecursionlimit(C):
    f = C(lambda x: x * sys.getrecursionlimit())
    return f(x0())


@prog
def isinstance_tuple_global(C):
    global TT
    TT = (int, str)
    f = C(lambda x, v: x * 2 if isinstance(v, TT) else x * 3)
    a = f(x0(), 1.5)
    TT = (float,)
    return a, f(x0(), 1.5)


@prog
def string_key_dict_obj(C):
    class K:
        def __eq__(s, o):
            return True

        def __hash__(s):
            return hash("a")

    d = {"a": 2}
    f = C(lambda x: x * d["a"])
    a = f(x0())
    d.clear()
    d[K()] = 9
    return a, f(x0())


@prog
def dict_update_in_place_value(C):
    d = {"a": [1]}
    f = C(lambda x: x * len(d["a"]))
    a = f(x0())
    d["a"].append(2)
    b = f(x0())
    d["a"] = (1, 2, 3)
    return a, b, f(x0())


@prog
def global_tensor_swapped(C):
    global WT
    WT = weft.ones(4)
    f = C(lambda x: x * WT)
    a = f(x0())
    WT = weft.full((4,), 5.0)
    b = f(x0())
    WT = weft.full((1,), 7.0)
    c = f(x0())
    WT = 3
    return a, b, c, f(x0())


@prog
def tensor_metadata_inplace(C):
    w = weft.ones(4)
    f = C(lambda x: (x * w, w.requires_grad, w.shape))
    a = f(x0())
    w.requires_grad_()
    b = f(x0())
    w.data = weft.ones(1)
    c = f(x0())
    return a, b, c


@prog
def type_of_obj_changed(C):
    class A:
        k = 2

    class B:
        k = 9

    o = A()
    f = C(lambda x: x * o.k)
    a = f(x0())
    o.__class__ = B
    return a, f(x0())


@prog
def closure_of_inlined_changed(C):
    def mk():
        k = 2

        def h(x):
            return x * k

        def s(v):
            nonlocal k
            k = v

        return h, s

    h, s = mk()
    f = C(lambda x: h(x))
    a = f(x0())
    s(9)
    return a, f(x0())


@prog
def dict_of_functions(C):
    T = {"a": lambda x: x * 2}
    f = C(lambda x: T["a"](x))
    a = f(x0())
    T["a"] = lambda x: x * 9
    return a, f(x0())


@prog
def kwdefaults_changed(C):
    def h(x, *, k=2):
        return x * k

    f = C(lambda x: h(x))
    a = f(x0())
    h.__kwdefaults__["k"] = 9
    b = f(x0())
    h.__kwdefaults__ = {"k": 4}
    return a, b, f(x0())


@prog
def default_mutated(C):
    def f(x, acc=[]):
        acc.append(len(acc))
        return x + len(acc), acc

    f = C(f)
    return [f(x0())[0] for _ in range(3)], f(x0())[1]


@prog
def defaults_replaced(C):
    def f(x, k=2):
        return x * k

    g = C(f)
    a = g(x0())
    f.__defaults__ = (7,)
    b = g(x0())
    return a, b


@prog
def inlined_defaults_replaced(C):
    global hdef

    def hdef(x, a=1, b=2):
        return x * a + b

    g = C(lambda x: hdef(x))
    a = g(x0())
    hdef.__defaults__ = (1, 2, 9)[1:]
    b = g(x0())
    return a, b


@prog
def descriptor_state(C):
    class D:
        def __init__(self):
            self.v = 2

        def __get__(self, i, o):
            return self.v

    d = D()

    class K:
        pass

    K.d = d
    o = K()
    f = C(lambda x: x * o.d)
    a = f(x0())
    d.v = 9
    return a, f(x0())
