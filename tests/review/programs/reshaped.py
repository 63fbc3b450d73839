"""Classes and objects that become others between two calls: bases, slots, names, members."""

import abc
import collections
import typing

from tests.review.harness import prog, told_whole, x0


@prog
def mro_bases_assign(C):
    class A:
        def m(self):
            return 1

    class B:
        def m(self):
            return 2

    class K(A):
        pass

    k = K()
    c = C(lambda x: x * k.m())
    r = [c(x0())]
    K.__bases__ = (B,)
    r.append(c(x0()))
    K.__bases__ = (B, A)
    r.append(c(x0()))
    return r


@prog
def isinstance_after_bases(C):
    class A:
        pass

    class B:
        pass

    class K(A):
        pass

    k = K()
    c = C(lambda x: x * (1 if isinstance(k, A) else 2) + issubclass(K, B))
    r = [c(x0())]
    K.__bases__ = (B,)
    r.append(c(x0()))
    return r


@prog
def class_assign(C):
    class A:
        k = 1

        def m(self):
            return 10

    class B:
        k = 2

        def m(self):
            return 20

    o = A()
    c = C(lambda x, o: x * o.k + o.m())
    r = [c(x0(), o)]
    o.__class__ = B
    r.append(c(x0(), o))
    return r


@prog
def class_assign_inside(C):
    class A:
        k = 1

    class B:
        k = 2

    def f(x, o):
        o.__class__ = B
        return x * o.k, type(o).__name__, isinstance(o, A)

    c = C(f)
    return c(x0(), A()), c(x0(), A()), c(x0(), B())


@prog
def instance_dict_replaced(C):
    class A:
        pass

    o = A()
    o.k = 1
    c = C(lambda x: x * o.k)
    r = [c(x0())]
    o.__dict__ = {"k": 5}
    r.append(c(x0()))
    d = {"k": 7}
    o.__dict__ = d
    r.append(c(x0()))
    d["k"] = 9
    r.append(c(x0()))
    return r


@prog
def instance_dict_replaced_inside(C):
    class A:
        pass

    def f(x, o):
        o.__dict__ = {"k": 3}
        o.j = 4
        return x * o.k, o.__dict__

    c = C(f)
    a = A()
    a.z = 1
    return c(x0(), a), vars(a), c(x0(), A())


@prog
def metaclass_attr(C):
    class M(type):
        k = 2

    class A(metaclass=M):
        pass

    c = C(lambda x: x * A.k)
    r = [c(x0())]
    M.k = 3
    r.append(c(x0()))
    A.k = 4
    r.append(c(x0()))
    M.k = property(lambda cls: 7)
    r.append(c(x0()))
    del M.k
    r.append(c(x0()))
    return r


@prog
def metaclass_instancecheck(C):
    class M(type):
        def __instancecheck__(cls, o):
            return cls.yes

        yes = True

    class A(metaclass=M):
        pass

    c = C(lambda x: x * (2 if isinstance(x, A) else 3))
    r = [c(x0())]
    M.yes = False
    r.append(c(x0()))
    M.__instancecheck__ = lambda cls, o: True
    r.append(c(x0()))
    return r


@prog
def abc_register(C):
    class A(abc.ABC):
        pass

    class T:
        pass

    t = T()
    c = C(lambda x: x * (2 if isinstance(t, A) else 3))
    r = [c(x0())]
    A.register(T)
    r.append(c(x0()))
    return r


@prog
def abc_subclasshook(C):
    class A(abc.ABC):
        @classmethod
        def __subclasshook__(cls, k):
            return hasattr(k, "q") or NotImplemented

    class T:
        pass

    t = T()
    c = C(lambda x: x * (2 if isinstance(t, A) else 3))
    r = [c(x0())]
    T.q = 1
    abc.ABCMeta.register(A, type("Z", (), {}))
    r.append(c(x0()))
    return r


@prog
def collections_abc_check(C):
    class T:
        pass

    t = T()
    c = C(lambda x: x * (2 if isinstance(t, collections.abc.Sized) else 3) + isinstance(t, collections.abc.Callable))
    r = [c(x0())]

    class U:
        def __len__(self):
            return 0

        def __call__(self):
            return 1

    t = U()
    r.append(c(x0()))
    return r


@prog
def protocol_runtime(C):
    @typing.runtime_checkable
    class P(typing.Protocol):
        k: int

    class T:
        pass

    t = T()
    c = C(lambda x: x * (2 if isinstance(t, P) else 3))
    r = [c(x0())]
    t.k = 1
    r.append(c(x0()))
    del t.k
    r.append(c(x0()))
    return r


@prog
def slots_and_dict(C):
    class A:
        __slots__ = ("a", "__dict__")

    o = A()
    o.a = 2
    o.b = 3
    c = C(lambda x: x * o.a + o.b + hasattr(o, "q"))
    r = [c(x0())]
    o.a = 4
    r.append(c(x0()))
    o.q = 1
    r.append(c(x0()))
    del o.a
    r.append(told_whole(c, x0()))
    o.__dict__["a"] = 99
    r.append(told_whole(c, x0()))
    return r


@prog
def slot_shadowed_in_subclass(C):
    class A:
        __slots__ = ("a",)

    class B(A):
        __slots__ = ("a",)

    o = B()
    o.a = 2
    A.a.__set__(o, 5)
    c = C(lambda x: x * o.a + A.a.__get__(o))
    r = [c(x0())]
    A.a.__set__(o, 6)
    r.append(c(x0()))
    return r


@prog
def slot_removed_from_class(C):
    class A:
        __slots__ = ("a",)

    o = A()
    o.a = 2
    c = C(lambda x: x * o.a)
    r = [c(x0())]
    s = A.a
    A.a = 9
    r.append(c(x0()))
    A.a = s
    r.append(c(x0()))
    return r


@prog
def init_subclass(C):
    log = []

    class A:
        def __init_subclass__(cls, **k):
            log.append((cls.__name__, k))

    def f(x):
        class B(A, q=1):
            z = 3

        return x * B.z

    c = C(f)
    return c(x0()), c(x0()), log


@prog
def class_in_function(C):
    def f(x, n):
        class B:
            k = n

            def m(self):
                return self.k * 2

            @property
            def p(self):
                return n

        b = B()
        return x * b.m() + b.p, B.__name__, B.__qualname__, B.__module__

    c = C(f)
    return c(x0(), 1), c(x0(), 2), c(x0(), 2.5)


@prog
def set_name(C):
    class D:
        def __set_name__(self, o, n):
            self.n = n

        def __get__(self, o, t):
            return self.n

    def f(x):
        class B:
            zed = D()

        return x, B().zed, B.zed

    c = C(f)
    return c(x0()), c(x0())


@prog
def classmethod_rebind(C):
    class A:
        k = 1

        @classmethod
        def m(cls):
            return cls.k

    class B(A):
        k = 2

    c = C(lambda x, t: x * t.m())
    r = [c(x0(), A), c(x0(), B)]
    A.m = classmethod(lambda cls: cls.k * 10)
    r += [c(x0(), A), c(x0(), B)]
    B.m = lambda: 7
    r += [c(x0(), B)]
    return r


@prog
def name_and_doc(C):
    class A:
        "doc"

    def g():
        "gdoc"

    c = C(lambda x: (x + 1, A.__name__, A.__doc__, g.__name__, g.__doc__, g.__qualname__))
    r = [c(x0())]
    A.__name__ = "Z"
    g.__name__ = "zz"
    g.__doc__ = "new"
    g.__qualname__ = "qq"
    r.append(c(x0()))
    A.__doc__ = "new"
    r.append(c(x0()))
    return r


@prog
def subclasses_list(C):
    class A:
        pass

    c = C(lambda x: x * len(A.__subclasses__()))
    r = [c(x0())]

    class B(A):
        pass

    r.append(c(x0()))
    return r


@prog
def mro_read(C):
    class A:
        pass

    class B:
        pass

    class K(A):
        pass

    c = C(lambda x: (x, [t.__name__ for t in K.__mro__], K.__bases__[0].__name__, K.__base__.__name__))
    r = [c(x0())]
    K.__bases__ = (B, A)
    r.append(c(x0()))
    return r


@prog
def dir_hasattr_vars(C):
    class A:
        a = 1

    o = A()
    c = C(lambda x: (x, [n for n in dir(o) if not n.startswith("_")], sorted(vars(o)), hasattr(o, "b")))
    r = [c(x0())]
    o.b = 2
    r.append(c(x0()))
    A.c = 3
    r.append(c(x0()))
    return r


@prog
def class_dict_read(C):
    class A:
        a = 1

    c = C(lambda x: (x, "a" in A.__dict__, "b" in vars(A), A.__dict__.get("b")))
    r = [c(x0())]
    A.b = 2
    r.append(c(x0()))
    del A.a
    r.append(c(x0()))
    return r
