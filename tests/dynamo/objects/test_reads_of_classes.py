"""Classes that hear each read of an attribute, theirs and their objects': capture reads what the program reads, and no more."""

import collections
import functools

import pytest

import weft

log = []


class M(type):
    def __getattribute__(cls, n):
        log.append(("M", n))
        return type.__getattribute__(cls, n)


class A(metaclass=M):
    def __init__(self, v=1):
        object.__setattr__(self, "v", v)

    def __getattribute__(self, n):
        log.append(("A", n))
        return object.__getattribute__(self, n)

    def __setattr__(self, n, v):
        log.append(("set", n))
        object.__setattr__(self, n, v)

    def m(self):
        return self.v

    def __add__(self, o):
        return ("add", o)

    def __call__(self, x):
        return x * 2

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([1, 2])

    def __getitem__(self, i):
        return i

    def __enter__(self):
        return self

    def __exit__(self, *a):
        return False

    def __contains__(self, o):
        return True

    def __bool__(self):
        return True


G = None


def progs():
    def p1(x, o):
        return x + o.v

    def p2(x, o):
        return x + 1, o.m()

    def p3(x, o):
        return x + 1, [o][0] is o

    def p4(x, o):
        return x + 1, {o: 1}[o]

    def p5(x, o):
        return x + 1, {"a": o}["a"].v

    def p6(x, o):
        o.w = 3
        return x + o.w

    def p7(x, o):
        return x + 1, o + 1

    def p8(x, o):
        return o(x)

    def p9(x, o):
        return x + 1, len(o), list(o), o[2], 2 in o, bool(o)

    def p10(x, o):
        with o as q:
            return x + q.v

    def p11(x, o):
        return x + 1, isinstance(o, A), type(o) is A

    def p12(x, o):
        return x + 1, isinstance(o, int), isinstance(o, (str, list))

    def p13(x, o):
        return x + 1, callable(o), hasattr(o, "zz"), o.v

    def p14(x, o):
        return x + 1, o == o, o != o, o is None, hash(o) == hash(o)

    def p15(x, o):
        return x + 1, A(4).v

    def p16(x, o):
        return x + G.v

    def p17(x, o):
        def g():
            return o.v

        return x + g()

    def p18(x, o):
        return x + 1, (lambda z=o: z.v)()

    def p19(x, o):
        return x + 1, {o}, (o, 1)[0].v

    def p20(x, o):
        return x + 1, str(type(o)), A.__name__

    def p21(x, o):
        return x + 1, functools.partial(lambda a, b: a.v + b, o)(2)

    def p22(x, o):
        return x + 1, sorted([o, o], key=lambda q: q.v)[0].v

    def p23(x, o):
        return x + 1, collections.OrderedDict(a=o)["a"].v, collections.deque([o])[0].v

    def p24(x, o):
        try:
            o.nothing  # noqa: B018
        except AttributeError as e:
            return x + 1, str(e)

    def p25(x, o):
        return weft.where(x > 0, x, 0), o

    def p26(x, o):
        if o:
            return x + 1
        return x - 1

    def p27(x, o):
        return x + 1, max([o], key=len).v

    def p28(x, o):
        return x + 1, [q.v for q in (o, o)], dict(a=o, b=o)["b"].v

    def p29(x, o):
        a, b = o
        return x + a + b

    def p32(x, o):
        return x + 1, o.__class__.__name__

    def p33(x, o):
        return x + 1, issubclass(A, object), A is A, {A: 1}[A]

    def p34(x, o):
        del o.v
        return x + 1

    def p35(x, o):
        return x + 1, id(o) == id(o), o in [o], [o] == [o], (o,) == (o,)

    def p36(x, o):
        print(end="")
        weft._dynamo.graph_break()
        return x + o.v

    def p37(x, o):
        return x + 1, f"{o.v}", format(o.v, "d")

    def p39(x, o):
        raise ValueError(o.v)

    def p40(x, o):
        return x + 1, next(iter(o)), tuple(o), [*o], sum(o), zip(o, o).__next__()

    return [v for v in locals().values()]


@pytest.mark.parametrize("f", progs(), ids=lambda f: f.__name__)
def test_what_is_read(f):
    global G
    weft.compiler.reset()
    compiled = weft.compile(f, backend="eager")
    for _ in range(3):
        told = []
        for call in (f, compiled):
            o, G = A(2), A(3)
            log.clear()
            try:
                call(weft.ones(2), o)
            except ValueError as e:
                log.append(repr(e))
            told.append(list(log))
        assert told[0] == told[1]
