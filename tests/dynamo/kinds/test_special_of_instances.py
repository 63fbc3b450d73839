"""Attributes of an instance under the names of special methods: what Python looks up on the class does not see them."""

import copy
import math
import operator
import re

import pytest

import weft

GIVEN = {  # what the methods of a class give
    "index": 1, "float": 1.5, "int": 3, "complex": 1j, "trunc": 4, "len": 2, "bool": False, "contains": True, "hash": 5, "str": "s",
    "repr": "r", "format": "f", "bytes": b"b", "fspath": "p", "length_hint": 2, "dir": ["d"], "sizeof": 7,
}  # fmt: skip
OTHERS = "divmod rdivmod round floor ceil abs neg getitem iter next reversed eq lt add radd iadd call pow rpow matmul invert copy"
NAMES = [*GIVEN, *OTHERS.split()]
EXPRESSIONS = """
float(o); int(o); complex(o); math.trunc(o); divmod(o, 2); divmod(2, o); round(o); round(o, 2); math.floor(o); math.ceil(o); abs(o)
-o; len(o); bool(o); 3 in o; o[0]; list(o); next(o); hash(o) < 99; o == 1; o < 1; o + 1; 1 + o; str(o); repr(o); f"{o}"; bytes(o)
o(); o**2; 2**o; o @ 1; ~o; operator.length_hint(o); copy.copy(o) is o; operator.index(o); hex(o); range(o); [1, 2, 3][o]; "abc" * o
operator.concat(o, [1]); "%d" % o; math.sqrt(o); chr(o); sorted(o); sum(o); tuple(o); format(o, "x"); math.fabs(o); not o; max(o)
math.factorial(o); math.gcd(o, 4); dict(o); bin(o); pow(2, o, 5); int("11", o); [*range(5)][o:]; math.comb(4, o); math.ldexp(1.0, o)
math.isclose(o, 1); reversed(o)
"""
TRIED = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(";")]
ADDRESS = re.compile("0x[0-9a-f]+")
space: dict = {"math": math, "operator": operator, "copy": copy}
exec("def calls(o):\n    return [" + ", ".join(f"lambda: {e}" for e in TRIED) + "]", space)
calls = space["calls"]


class Full:
    pass


class Empty:
    pass


def method(name):
    return lambda self, *args: iter([1]) if name == "iter" else GIVEN.get(name, name)


for _name in NAMES:
    setattr(Full, f"__{_name}__", method(_name))


def told(x, o):
    found = []
    for call in calls(o):
        try:
            result = call()
        except Exception as e:
            result = type(e).__name__, str(e)
        found.append(ADDRESS.sub("", repr(result)))
    return x + 1, found


@pytest.mark.parametrize("cls", [Full, Empty])
def test_what_the_instance_has_counts_for_nothing(cls):
    compiled = weft.compile(told, backend="eager")
    weft.compiler.reset()
    for name in [None, *NAMES]:
        o = cls()
        if name is not None:
            setattr(o, f"__{name}__", lambda *args: 100)
        weft.compiler.reset()
        expected, found = told(weft.ones(1), o)[1], compiled(weft.ones(1), o)[1]
        differ = [(name, e, p, c) for e, p, c in zip(TRIED, expected, found) if p != c]
        assert differ == []
