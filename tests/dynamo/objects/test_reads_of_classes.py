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


SPACE: dict = {"A": A, "G": None, "collections": collections, "functools": functools, "weft": weft}
EXPRESSIONS = """
o.v; o.m(); [o][0] is o; {o: 1}[o]; {"a": o}["a"].v; o + 1; o(x); isinstance(o, A), type(o) is A; A(4).v; G.v; {o}, (o, 1)[0].v; o
isinstance(o, int), isinstance(o, (str, list)); len(o), list(o), o[2], 2 in o, bool(o); callable(o), hasattr(o, "zz"), o.v
o == o, o != o, o is None, hash(o) == hash(o); (lambda z=o: z.v)(); str(type(o)), A.__name__; [*o], sum(o), tuple(o)
functools.partial(lambda a, b: a.v + b, o)(2); sorted([o, o], key=lambda q: q.v)[0].v; max([o], key=len).v; o.__class__.__name__
collections.OrderedDict(a=o)["a"].v, collections.deque([o])[0].v; [q.v for q in (o, o)], dict(a=o, b=o)["b"].v
issubclass(A, object), A is A, {A: 1}[A]; f"{o.v}", format(o.v, "d"); id(o) == id(o), o in [o], [o] == [o], (o,) == (o,)
next(iter(o)), next(zip(o, o))
"""
STATEMENTS = [
    "o.w = 3; r = o.w",
    "del o.v; r = 1",
    "with o as q: r = q.v",
    "r = (lambda: o.v)()",
    "try: r = o.nothing\n    except AttributeError as e: r = str(e)",
    "r = 1 if o else 2",
    "a, b = o; r = a + b",
    "weft._dynamo.graph_break(); r = o.v",
    "raise ValueError(o.v)",
]
PROGRAMS = [f"r = {e.strip()}" for line in EXPRESSIONS.strip().splitlines() for e in line.split(";")] + STATEMENTS


@pytest.mark.parametrize("text", PROGRAMS)
def test_what_is_read(text):
    exec(f"def f(x, o):\n    {text}\n    return x + 1, r", SPACE)
    function = SPACE["f"]
    weft.compiler.reset()
    compiled = weft.compile(function, backend="eager")
    for _ in range(3):
        told = []
        for call in (function, compiled):
            o, SPACE["G"] = A(2), A(3)
            log.clear()
            try:
                call(weft.ones(2), o)
            except ValueError as e:
                log.append(repr(e))
            told.append(list(log))
        assert told[0] == told[1]
