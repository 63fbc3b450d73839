"""What a look-up passed by on its way comes to be between two calls: on the metaclass, on a base, on the instance, in a module."""

import types

from tests.review.harness import prog, told, x0


@prog
def metaclass_gets_a_data_descriptor(C):
    class M(type):
        pass

    class A(metaclass=M):
        k = 2

    c = C(lambda x: x * A.k)
    r = [c(x0())]
    M.k = property(lambda cls: 7)
    r.append(c(x0()))
    del M.k
    M.k = 9
    r.append(c(x0()))
    del A.k
    r.append(c(x0()))
    del M.k
    r.append(told(c, x0()))
    return r


@prog
def metaclass_gets_getattr(C):
    class M(type):
        pass

    class A(metaclass=M):
        pass

    c = C(lambda x: x * getattr(A, "k", 2))
    r = [c(x0())]
    M.__getattr__ = lambda cls, n: 5
    r.append(c(x0()))
    M.__getattribute__ = lambda cls, n: 6
    r.append(c(x0()))
    return r


@prog
def metaclass_gets_call(C):
    class M(type):
        pass

    class A(metaclass=M):
        def __init__(self, k):
            self.k = k

    c = C(lambda x: x * A(3).k)
    r = [c(x0())]

    def call(cls, k):
        o = type.__call__(cls, k)
        o.k += 10
        return o

    M.__call__ = call
    r.append(c(x0()))
    del M.__call__
    A.__new__ = lambda cls, k: types.SimpleNamespace(k=100)
    r.append(c(x0()))
    return r


@prog
def metaclass_gets_len_bool_contains(C):
    class M(type):
        pass

    class A(metaclass=M):
        pass

    c = C(lambda x: x * (1 if A else 2))
    r = [c(x0())]
    M.__len__ = lambda cls: 0
    r.append(c(x0()))
    M.__bool__ = lambda cls: True
    r.append(c(x0()))
    d = C(lambda x: x * (3 if A == 3 else 4))
    r.append(d(x0()))
    M.__eq__ = lambda cls, o: True
    r.append(d(x0()))
    return r


@prog
def class_getitem_added_and_metaclass_getitem(C):
    class M(type):
        pass

    class A(metaclass=M):
        pass

    def f(x):
        try:
            return x * A[3]
        except TypeError as e:
            return x, str(e)

    c = C(f)
    r = [c(x0())]
    A.__class_getitem__ = classmethod(lambda cls, k: k + 1)
    r.append(c(x0()))
    M.__getitem__ = lambda cls, k: k + 2
    r.append(c(x0()))
    return r


@prog
def base_of_a_base_gets_the_attribute(C):
    class A:
        pass

    class B(A):
        pass

    class D(B):
        pass

    o = D()
    c = C(lambda x: x * (o.k if hasattr(o, "k") else 2))
    r = [c(x0())]
    A.k = 3
    r.append(c(x0()))
    B.k = 4
    r.append(c(x0()))
    o.k = 5
    r.append(c(x0()))
    B.k = property(lambda s: 6)
    r.append(c(x0()))
    del B.k
    r.append(c(x0()))
    return r


@prog
def missing_added_to_a_dict_subclass(C):
    class D(dict):
        pass

    d = D(a=1)

    def f(x):
        try:
            return x * d["b"]
        except KeyError as e:
            return x, e.args

    c = C(f)
    r = [c(x0())]
    D.__missing__ = lambda self, k: 4
    r.append(c(x0()))
    D.__getitem__ = lambda self, k: 5
    r.append(c(x0()))
    D.get = lambda self, k, default=None: 6
    g = C(lambda x: x * d.get("b", 1))
    r.append(g(x0()))
    del D.get
    r.append(g(x0()))
    return r


@prog
def contains_and_len_added(C):
    class D(dict):
        pass

    d = D(a=1)
    c = C(lambda x: (x * (2 if "a" in d else 3), len(d), bool(d)))
    r = [c(x0())]
    D.__contains__ = lambda self, k: False
    r.append(c(x0()))
    D.__len__ = lambda self: 7
    r.append(c(x0()))
    D.__bool__ = lambda self: False
    r.append(c(x0()))
    return r


@prog
def iter_added_to_sequences(C):
    class L(list):
        pass

    class T(tuple):
        pass

    l, t = L([1, 2]), T((3, 4))
    c = C(lambda x: (x * sum(l) * sum(t), [*l], (*t,), sorted(l), max(t)))
    r = [c(x0())]
    L.__iter__ = lambda self: iter([10])
    r.append(c(x0()))
    T.__iter__ = lambda self: iter([20, 30])
    r.append(c(x0()))
    return r


@prog
def set_name_and_slots_shadowed(C):
    class A:
        __slots__ = ("k",)

    class B(A):
        __slots__ = ("j",)

    o = B()
    o.k = 2
    c = C(lambda x: x * o.k)
    r = [c(x0())]
    slot = A.k
    A.k = 5
    r.append(c(x0()))
    A.k = slot
    r.append(c(x0()))
    del o.k
    r.append(told(c, x0()))
    B.__getattr__ = lambda s, n: 8
    r.append(c(x0()))
    return r


@prog
def bool_replaced_by_len_on_a_base(C):
    class A:
        pass

    class B(A):
        pass

    o = B()
    c = C(lambda x: x + 1 if o else x - 1)
    r = [c(x0())]
    A.__len__ = lambda s: 0
    r.append(c(x0()))
    B.__bool__ = lambda s: True
    r.append(c(x0()))
    B.__bool__ = lambda s: 1
    r.append(told(c, x0()))
    A.__len__ = None
    del B.__bool__
    r.append(told(c, x0()))
    return r


@prog
def reflected_added(C):
    class A:
        def __add__(self, o):
            return NotImplemented

    class B:
        pass

    a, b = A(), B()

    def f(x):
        try:
            return x * (a + b)
        except TypeError as e:
            return x, str(e)

    c = C(f)
    r = [c(x0())]
    B.__radd__ = lambda s, o: 3
    r.append(c(x0()))
    A.__add__ = lambda s, o: 4
    r.append(c(x0()))
    A.__add__ = None
    r.append(c(x0()))
    return r


@prog
def iadd_added(C):
    class A:
        def __add__(self, o):
            return 5

    a = A()

    def f(x):
        y = a
        y += 1
        return x * y

    c = C(f)
    r = [c(x0())]
    A.__iadd__ = lambda s, o: 9
    r.append(c(x0()))
    A.__iadd__ = lambda s, o: NotImplemented
    r.append(c(x0()))
    return r


@prog
def hash_of_a_key_class_set_to_none(C):
    class K:
        pass

    k = K()
    d = {k: 3}

    def f(x):
        try:
            return x * d[k]
        except TypeError as e:
            return x, str(e)

    c = C(f)
    r = [c(x0())]
    K.__hash__ = None
    r.append(c(x0()))
    return r


@prog
def enter_and_exit_replaced_on_a_base(C):
    log = []

    class A:
        def __enter__(self):
            log.append("in")
            return 2

        def __exit__(self, *a):
            log.append("out")

    class B(A):
        pass

    def f(x):
        with B() as k:
            return x * k / (0 if False else 1)

    c = C(f)
    r = [c(x0())]
    B.__enter__ = lambda s: 3
    r.append(c(x0()))
    B.__exit__ = lambda s, *a: log.append("b out")
    r.append(c(x0()))
    del B.__enter__, B.__exit__
    del A.__exit__
    r.append(told(c, x0()))
    return r, log


@prog
def instance_dict_does_not_count_for_special_methods(C):
    class A:
        def __call__(self, x):
            return x + 1

        def __len__(self):
            return 3

    o = A()
    c = C(lambda x: (o(x), len(o), bool(o)))
    r = [c(x0())]
    o.__call__ = lambda x: x + 50
    o.__len__ = lambda: 0
    r.append(c(x0()))
    A.__call__ = lambda s, x: x + 70
    r.append(c(x0()))
    return r
