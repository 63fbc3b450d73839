"""Expressions of builtins over values of every builtin kind, beside a tensor operation."""

import copy

import weft
from tests.review.harness import check_calls

# fmt: off
EXPRESSIONS = r"""
type(v).__name__
v.__class__.__name__
str(v)
repr(v)
bool(v)
len(v)
list(v)
sorted(v)
tuple(v)
set(v)
iter(v)
next(iter(v))
hash(v)
v==v
v is v
v in [v]
not v
v or 1
v and 1
v*2
v+v
v<v
[v][0]
{0:v}[0]
dir(v)[:2]
getattr(v,"__doc__",None)
v.__len__()
v.__contains__(1)
v[0]
v[-1]
v[0:1]
v.__eq__(v)
max(v)
min(v)
sum(v)
any(v)
all(v)
reversed(v)
list(reversed(v))
enumerate(v)
list(enumerate(v))
dict(v)
list(map(str,v))
list(zip(v,v))
divmod(v,2)
round(v)
abs(v)
-v
+v
~v
v//2
v%2
v**2
v<<1
v|v
v&v
v^v
float(v)
int(v)
complex(v)
format(v)
f"{v!r:>8}"
ascii(v)
bytes(v)
"%s"%(v,)
isinstance(v,(int,str))
callable(v)
id(v)==id(v)
v.__class__ is type(v)
vars(v)
v.foo
v.real
v.upper()
v.append
v.copy()
v.count(1)
v.index(1)
v.items()
v.keys()
issubclass(type(v),object)
[*v]
{**v}
(lambda *a:a)(*v)
(lambda **k:k)(**v)
a if (a:=v) else 0
v[1:2:1]
v.bit_length()
v.hex()
v.join(["a","b"])
v.split()
v.format(1)
v.encode()
v.get("a")
v.as_integer_ratio()
""".strip().split("\n")
# fmt: on
VALUES = ["abc", 3, 1.5, None, [3, 1, 2], {"a": 1}, (1, 2), True, b"ab", {1, 2}, range(3), -7, "", 0, 2 + 1j, frozenset([1])]


def case(text: str, value):
    def check(backend):
        function = eval(f"lambda v, x: (({text}), x + 1)")
        return check_calls(function, [lambda: (copy.copy(value), weft.ones(2))] * 2, backend)

    return check


def cases() -> dict:
    return {f"{text}|{value!r}".replace(" ", ""): case(text, value) for text in EXPRESSIONS for value in VALUES}
