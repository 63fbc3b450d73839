"""Metaclasses that define comparison, or take the hash away: neither is asked where a kind of value is told from others."""

import functools

import pytest

import weft


class NoHash(type):
    def __eq__(cls, o):
        return cls is o


class Always(type):
    def __eq__(cls, o):
        return True

    def __hash__(cls):
        return 3


class Boom(type):
    def __eq__(cls, o):
        raise ValueError("asked")

    def __hash__(cls):
        raise ValueError("hash asked")


def classes_of(meta):
    class A(metaclass=meta):
        k = 1

        def __init__(self, v=1):
            self.v = v

        def m(self):
            return self.v

    class Desc(metaclass=meta):
        def __get__(self, o, c=None):
            return 7

    A.d = Desc()
    A.plain = Desc.__new__(Desc)

    class It(metaclass=meta):
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 3:
                raise StopIteration
            return self.n

    class Key(metaclass=meta):
        def __hash__(self):
            return 4

        def __eq__(self, o):
            return self is o

    class Ctx(metaclass=meta):
        def __enter__(self):
            return 1

        def __exit__(self, *a):
            return True

    class Call(metaclass=meta):
        def __call__(self, x):
            return x * 2

    class Num(metaclass=meta):
        def __add__(self, o):
            return 5

        def __index__(self):
            return 2

        def __float__(self):
            return 2.5

        def __bool__(self):
            return False

        def __len__(self):
            return 0

    return A, Desc, It, Key, Ctx, Call, Num


glob = {}


def program(x, A, Desc, It, Key, Ctx, Call, Num, o, key, it, d):
    r = []
    r.append(o.v)
    r.append(o.m())
    r.append(A.k)
    r.append(o.d)
    r.append(isinstance(o, A))
    r.append(list(it))
    r.append(d[key])
    with Ctx() as c:
        r.append(c)
        raise ValueError
    y = Call()(x)
    r.append(Num() + 1)
    r.append([1, 2, 3][Num()])
    r.append(bool(Num()))
    r.append(float(Num()))
    s = {Key(): 1}
    r.append(len(s))
    t = set([key, Key()])
    r.append(len(t))
    r.append(key in t)
    b = A(5)
    b.w = 3
    r.append(vars(b))
    r.append(hasattr(b, "zz"))
    r.append(type(b) is A)
    r.append([type(q).__name__ for q in (o, key, it)])
    e = {"a": o}
    r.append(e["a"] is o)
    r.append(o in [o])
    r.append((o, 1) == (o, 1))
    glob["k"] = o
    r.append(glob.get("k") is o)

    def g(z=o):
        return z.v

    r.append(g())
    r.append(functools.partial(lambda q: q.v, o)())
    r.append(str(type(o).__name__))
    return y + x, r


@pytest.mark.parametrize("meta", [NoHash, Always, Boom, type])
def test_objects_of_all_protocols(meta):
    weft.compiler.reset()
    classes = classes_of(meta)
    compiled = weft.compile(program, backend="eager")

    def told(function, n):
        key = classes[3]()
        return repr(function(weft.ones(2), *classes, classes[0](n), key, classes[2](), {key: 9})[1])

    for n in range(3):
        assert told(compiled, n) == told(program, n)
