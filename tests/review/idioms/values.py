"""Builtin types and functools."""

import collections
import enum
import functools
import itertools
import json
import operator
import re

import weft
from tests.review.harness import idiom


@idiom
def partial_(x):
    return functools.partial(weft.add, x)(1)


@idiom
def reduce_(x):
    return functools.reduce(operator.mul, [x, x, x])


@idiom
def lru(x):
    @functools.lru_cache
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)

    return x * f(10)


@idiom
def itertools_(x):
    return (
        [x * a * b for a, b in itertools.product([1, 2], [3, 4])],
        list(itertools.accumulate([1, 2, 3])),
        x * sum(a * b for a, b in itertools.pairwise([1, 2, 3])),
    )


@idiom
def enum_(x):
    class E(enum.Enum):
        A = 1
        B = 2

    return x * E.B.value, E["A"].name


@idiom
def deque_(x):
    d = collections.deque([1, 2], maxlen=2)
    d.append(3)
    return x * d[0]


@idiom
def defaultdict_(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    return d["a"][0] + 1, dict(d).keys()


@idiom
def counter_(x):
    c = collections.Counter("aab")
    return x * c["a"]


@idiom
def ordereddict_(x):
    d = collections.OrderedDict(a=1)
    d.move_to_end("a")
    return x * d["a"]


@idiom
def sets(x):
    return x * len({1, 2} | {3}), sorted({3, 1})


@idiom
def strops(x):
    return f"{x.shape!r:>10}|{3.14159:.2f}".strip(), "a,b".split(","), "abc".upper().encode(), x


@idiom
def regex(x):
    return re.sub(r"\d", "#", "a1b2"), x


@idiom
def json_(x):
    return json.loads(json.dumps({"a": [1, 2]})), x


@idiom
def sort_key(x):
    return sorted([(3, "a"), (1, "b")], key=lambda t: t[0]), x


@idiom
def zip_strict(x):
    return [x * a * b for a, b in zip([1, 2], [3, 4], strict=True)]


@idiom
def divmod_(x):
    return divmod(7, 3), pow(2, 10, 7), round(2.567, 2), x


@idiom
def bigint(x):
    return 2**100, (2**100) % 7, x


@idiom
def intconv(x):
    return int("42"), float("1.5"), bin(5), hex(255), chr(65), ord("a"), x


@idiom
def isinst(x):
    return isinstance(x, weft.Tensor), type(x) is weft.Tensor, callable(len), hasattr(x, "foo"), getattr(x, "foo", 3), x
