"""Objects of the standard library, classes written in C among them."""

import argparse
import array
import bisect
import datetime
import decimal
import fractions
import heapq
import pathlib
import re
import statistics
import string
import types

from tests.review.harness import prog, x0


@prog
def array_truth(C):
    b = array.array("i")
    f = C(lambda x: x * 2 if b else x * 3)
    a = f(x0())
    b.append(1)
    return a, f(x0())


@prog
def array_eq(C):
    a, b = array.array("i", [1]), array.array("i", [1])
    return C(lambda x: x * 2 if a == b else x * 3)(x0())


@prog
def regex(C):
    p = re.compile("a(b)")
    return C(lambda x: (x * 2, bool(p.match("ab")), p.pattern, p == re.compile("a(b)")))(x0())


@prog
def timedelta_sub(C):
    class TD(datetime.timedelta):
        pass

    z = TD(0)
    return C(lambda x: x * 2 if z else x * 3)(x0()), C(lambda x: x * 2 if TD(1) == TD(1) else x * 3)(x0())


@prog
def timedelta_plain(C):
    z, o = datetime.timedelta(0), datetime.timedelta(days=1)
    return C(lambda x: (x * 2 if z else x * 3, o == datetime.timedelta(days=1), o.days, o > z))(x0())


@prog
def decimal_fraction(C):
    d, f = decimal.Decimal("0"), fractions.Fraction(1, 2)
    return C(lambda x: (x * 2 if d else x * float(f), f + 1, f == 0.5, d == 0))(x0())


@prog
def simplenamespace(C):
    ns = types.SimpleNamespace(k=2, l=[1])
    f = C(lambda x: x * ns.k + len(ns.l))
    a = f(x0())
    ns.k = 5
    return a, f(x0())


@prog
def argns(C):
    ns = argparse.Namespace(k=2)
    f = C(lambda x: (x * ns.k, "k" in ns, ns == argparse.Namespace(k=2), vars(ns)))
    a = f(x0())
    ns.k = 5
    return a, f(x0())


@prog
def pathlib_use(C):
    p = pathlib.Path("/a/b.txt")
    return C(lambda x: (x * 2, p.name, str(p / "c"), p.suffix == ".txt"))(x0())


@prog
def heapq_bisect(C):
    def f(x):
        h = [3, 1, 2]
        heapq.heapify(h)
        heapq.heappush(h, 0)
        return x * heapq.heappop(h), bisect.bisect_left([1, 3, 5], 3), heapq.nsmallest(2, h), statistics.mean([1, 2, 3])

    return C(f)(x0())


@prog
def string_template(C):
    return C(
        lambda x: (x * 2, string.Template("$a").substitute(a=1), string.ascii_letters[:3], "abc".translate(str.maketrans("a", "b")))
    )(x0())


@prog
def bytearray_mem(C):
    b = bytearray(b"ab")
    m = memoryview(b)

    def f(x):
        b[0] = 99
        return x * len(b), bytes(b), m[1], b == b"cb"

    return C(f)(x0())
