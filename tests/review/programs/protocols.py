"""What the interpreter and NumPy ask of objects without naming it: patterns, keys, arguments, identity, ufunc methods."""

import functools

import numpy as np

import weft
from tests.review.harness import prog, x0


def attempts(operations):
    told = []
    for operation in operations:
        try:
            told.append(operation())
        except Exception as e:
            told.append((type(e).__name__, str(e)))
    return told


@prog
def match_args_change(C):
    class P:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    def f(x, v):
        match v:
            case P(first, second):
                return x + first, second
            case int(n):
                return x, n
            case _:
                return x, "none"

    f = C(f)
    told = [f(x0(), P(3, 4)), f(x0(), True)]
    P.__match_args__ = ("b", "a")
    told.append(f(x0(), P(3, 4)))
    for names in (("a",), ["a", "b"], ("a", 1), ("a", "a")):
        P.__match_args__ = names
        told += attempts([lambda: f(x0(), P(3, 4))])
    return told


@prog
def match_asks_the_metaclass(C):
    class Quacks(type):
        def __instancecheck__(cls, other):
            return hasattr(other, "quack")

    class Duck(metaclass=Quacks):
        pass

    class Thing:
        pass

    def f(x, v):
        match v:
            case Duck():
                return x + 1
        return x

    f = C(f)
    thing = Thing()
    told = [f(x0(), thing)]
    thing.quack = 1
    return [*told, f(x0(), thing)]


@prog
def keywords_of_a_partial_are_its_own(C):
    def g(a, *, c=2):
        return a * 10 + c

    p = functools.partial(g, 1, c=3)

    def f(x):
        return x + p(), p.args, p.keywords

    f = C(f)
    told = [f(x0())]
    p.keywords["c"] = 5
    told.append(f(x0()))
    p.keywords.clear()
    return [*told, f(x0())]


@prog
def what_calls_say(C):
    def g(a, /, b, *, c=1):
        return a, b, c

    def h(*a, **k):
        return a, k

    def f(x):
        return x + 1, attempts([
            lambda: g(a=1, b=2), lambda: g(1, 2, 3), lambda: g(1, 2, 3, c=1), lambda: g(1, 2, 3, d=1), lambda: h(*3),
            lambda: h(**{"k": 1}, **{"k": 2}), lambda: h(**3),
        ])  # fmt: skip

    f = C(f)
    return [f(x0()), f(x0())]


@prog
def exit_is_missing(C):
    class A:
        def __enter__(self):
            return self

    def f(x):
        try:
            with A():
                x = x + 1
        except Exception as e:
            return x, type(e).__name__, str(e)

    return [C(f)(x0()) for _ in range(2)]


@prog
def a_key_says_what_is_equal(C):
    class S(str):
        def __eq__(self, other):
            return False

        __hash__ = str.__hash__

    def f(x, s):
        return x + 1, s in {"a": 1}, {"a": 1}.get(s), s == "a"

    f = C(f)
    return [f(x0(), S("a")), f(x0(), "a")]


@prog
def containers_find_nan_by_identity(C):
    def f(x, a, b):
        return x + 1, (a, b).index(b), [a].count(b), a in [b]

    f, nan = C(f), float("nan")
    return [f(x0(), nan, nan), f(x0(), nan, float("nan")), f(x0(), nan, nan)]


@prog
def methods_of_ufuncs(C):
    def f(a):
        return (
            np.add.reduce(a), np.multiply.accumulate(a), np.add.outer(a, a), np.maximum.reduceat(a, [0, 2]),
            np.add.reduce(a, keepdims=True), np.minimum.reduce(a, initial=-5), np.logical_and.reduce(a > 0),
        )  # fmt: skip

    f = C(f)
    return [f(np.arange(4.0)), f(np.arange(5)), f(np.arange(4.0))]


@prog
def out_without_its_name(C):
    def f(a, o):
        return np.add(a, 1, o) is o, np.multiply(o, 2, o), o

    f = C(f)
    return [f(np.arange(4.0), np.zeros(4)), f(np.arange(3.0), np.zeros(3))]


@prog
def casts_that_numpy_refuses(C):
    def f(a):
        def add():
            a.__iadd__(1.5)

        return attempts([add, lambda: np.sign(a > 1), lambda: np.add(a, 0.5, out=a)]), a

    f = C(f)
    return [f(np.arange(4)), f(np.arange(3, dtype=np.uint8))]


@prog
def pieces_without_elements(C):
    def f(a):
        return np.array_split(a, 3, 1), a[:, 2:]

    f = C(f)
    return [f(np.arange(6.0).reshape(2, 3)), f(np.arange(4.0, dtype=np.float32).reshape(2, 2))]


@prog
def gradient_of_a_power_by_a_float(C):
    def f(x, k):
        return weft.func.grad(lambda v: (v**k).sum())(x), weft.func.grad(lambda v: ((k + 1) ** v).sum())(x)

    f = C(f)
    return [f(x0() + 1, k) for k in (1.0, 2.0, 3.0, 0.0)]


@prog
def identity_of_equal_constants(C):
    def f(x, a, b):
        return x + 1, a is b, a == b

    f, n, m = C(f), 1.5, float("1.5")
    big, other = 10**20, int("1" + "0" * 20)
    return [f(x0(), n, n), f(x0(), n, m), f(x0(), m, m), f(x0(), big, other), f(x0(), big, big), f(x0(), other, big)]


@prog
def patterns_of_mappings_ask_get(C):
    class D(dict):
        def __getitem__(self, key):
            raise IndexError(key)

    class G(dict):
        def get(self, key, default=None):
            return "got", key

    def f(x, v):
        match v:
            case {"a": first, **rest}:
                return x + 1, first, rest
            case {}:
                return x, "a mapping"
        return x, None

    f = C(f)
    return [f(x0(), v) for v in (D(a=1), {"a": 2, "b": 3}, G(), {}, {"b": x0()}, {"a": x0()}, 3)]


@prog
def constants_of_code_are_one_object(C):
    def g():
        return "add", 1

    def f(x):
        return x + 1, g(), g(), g() is g()

    f = C(f)
    first, second = f(x0()), f(x0())
    return first[1] is first[2], first[1] is second[1], first[3], second[2] is g()
