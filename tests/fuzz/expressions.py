"""Expressions and statements for the Python fuzzer, a line each: over objects, over values, and what changes them."""

from __future__ import annotations

import random


def pick(r: random.Random, text: str) -> str:
    """One of the lines of a table."""
    return r.choice([line for line in text.strip().split("\n") if line])


# Of an object `o`, another `p`, its class `K`, a number `n`, a text `s`, lists `xs`, dicts `d`, tensors `x`.
OF_OBJECTS = """
o + 1
1 + o
o + p
p + o
o * 2
x * o
o * x
o - p
o @ p
-o
abs(o)
o == p
o != p
o == o
o == 1
o < p
o <= p
o > p
o is p
not o
bool(o)
len(o)
list(o)
tuple(o)
sorted(o)
[v for v in o]
max(o, p)
sorted([o, p])[0] is o
o[0]
o["a"]
o[n]
o["zz"]
o[0:1]
1 in o
"a" in o
o in [p]
o in [o]
[o, p].index(p)
[o].count(p)
{o: 1}.get(p, "none")
len({o, p})
hash(o) == hash(p)
hash(o) == hash(o)
{o: 1}[o]
o(1, k=2)
str(o)
repr(o)
f"{o}"
f"{o!r:>12}"
f"{o:>12}"
"%s|%r" % (o, p)
"{} {!s}".format(o, p)
format(o, "x")
o.v
o.k
o.p
o.d
o.t
o.m()
o.m(n)
o.m(1, 2, 3, key=4, z=5)
o.m2()
o.c()
K.c(2)
K.make(2).v
o.s(2)
o.zz
o.gone
o.cached
o.cached, o.cached
o.count
K.count
K.k
K.magic
K.d
len(K)
1 in K
K[int]
list(K)
o.name, o.value
K(1)
K["RED"]
o.items
list(o.items())
o.keys()
o.get("a", 7)
o.copy()
o.pop()
o.append(n)
o.update(a=n)
o.setdefault("new", n)
o.add(n)
o.extend([n, n])
o.move_to_end("a")
o.most_common(1)
o.upper()
o._replace(left=9)
o._asdict()
o.left
o.args
o.__dict__
vars(o)
dict(vars(o), k=0)
sorted(vars(o))
o.__class__.__name__
type(o).__mro__[1].__name__
K.__name__, K.__qualname__
isinstance(o, K), isinstance(o, Mixin), isinstance(o, (int, dict)), issubclass(K, Exception)
isinstance(o, collections.abc.Mapping), isinstance(o, collections.abc.Iterable), isinstance(o, collections.abc.Hashable)
hasattr(o, "v"), hasattr(o, "zz"), hasattr(o, "p"), hasattr(o, "__len__")
getattr(o, "v", 5), getattr(o, "zz", 5), getattr(o, "p", "none")
getattr(o, "m", None) is not None
callable(o), callable(o.m2)
iter(o) is o
next(iter(o), "none")
list(reversed(o))
float(o)
int(o)
[1, 2, 3][o]
round(o)
round(o, 1)
range(o)
copy.copy(o)
copy.deepcopy(o) == o
dataclasses.replace(o, v=5)
dataclasses.asdict(o)
dataclasses.astuple(o)
[f.name for f in dataclasses.fields(o)]
list(o.gen())
next(o.gen())
[g for g, _ in zip(o.gen(5), range(2))]
sum(o)
any(o), all(o)
min(o, default=0)
list(map(str, o))
list(zip(o, o))
dict(o)
{**o}
[*o]
note(o.v)
o.m.__name__
o.m.__self__ is o
K.m(o)
super(K, o).__repr__() == "zz"
functools.partial(o.m, 3)()
operator.attrgetter("v")(o)
weft.tensor(o)
weft.full((2,), o)
kind(o)
o is None or o
o and 1
(o or 1) is o
"a" if o else "b"
o.sd(n), o.sd(s), o.sd(xs)
o.pm(), o.pm(b=3)
o - 1
1 - o
o | p
~o
+o
pow(o, 2)
divmod(o, 2)
complex(o)
bytes(o)
math.trunc(o)
operator.length_hint(o)
next(o)
dir(o)[:1]
o.Inner().m()
o.rec(n % 4)
o.chained
o.w
o > p or o >= p
K.RED | K.BLUE
K.RED in K
list(K.__members__)
[*map(type, [o, p])] == [K, K]
o in {o: 1}, o in (p, 1)
0 < n == 1 in [o, 1]
(lambda *, q=o: q is o)()
f"{o!s:>8}|{n:{n % 3 + 4}}|{s!r:.3}"
"""

TO_OBJECTS = """
o.v = n
o.k = [n]
o.p = n
o.d = n
o.t = n
o.new = x
o.new = xs
del o.v
del o.k
del o.new
del o.zz
o.v += 1
o.k += [1]
o += 1
o["a"] = n
o["b"] = x
o[0] = n
del o["a"]
del o[0]
o["a"] += 1
setattr(o, "w", n)
delattr(o, "w")
o.__dict__["z"] = n
vars(o).update(z2=n)
K.k = n
K.count += 1
K.extra = xs
del K.extra
K.added = lambda self: "added"
o.m = lambda n=1: "own"
o.__class__ = Mixin
o.self = o
p = o
o, p = p, o
o = K()
o = K(n)
x = x * o.v
xs.append(o)
d["o"] = o
"""

VALUES = """
n + 1
n * 2 - 3
n // 2, n % 3, n ** 2, -n
n / 3
divmod(n, 3)
n << 1 | 1
n > 1 and n < 5
0 < n <= 2
bin(n), hex(n), oct(n)
int("7") + n
round(n / 7, 2)
f"{n:>4}|{n:03d}|{n:+}|{n!r}"
f"{s!r:>8}|{s:^7}|{len(s)}"
"%d %s %5.2f" % (n, s, n)
"{0} {1!r} {x}".format(n, s, x=3)
s.upper() + s[::-1]
s.split("b"), s.partition("b"), s.replace("a", "q")
"-".join([s, str(n)])
s * n
s[n]
s < "b", s in "xaby"
ord(s[0]), chr(97 + n)
s.encode(), s.isalpha(), s.find("b"), s.startswith("a")
s.zfill(6), s.center(7, "*"), s.title()
xs + [n]
xs[-1:]
xs[n]
xs[::2], xs[1:], len(xs)
xs * 2
sorted(xs, key=str, reverse=True)
[i * n for i in range(3) if i != 1]
{i: i + n for i in range(2)}
{i % 2 for i in range(n + 1)}
[(i, j) for i in range(2) for j in range(i)]
sum(i for i in range(n + 1))
[y for i in range(3) if (y := i * n) > 0]
list(zip(xs, range(3)))
list(enumerate(s, start=n))
list(map(lambda v, w: (v, w), xs, s))
list(filter(None, [0, n, "", s]))
list(itertools.chain(xs, s))
list(itertools.islice(itertools.count(n), 3))
list(itertools.accumulate([1, 2, n]))
list(itertools.product([1, n], s))
list(itertools.groupby(sorted([1, 1, n])))[0][0]
functools.reduce(operator.add, [1, 2, n])
functools.partial(add, 1, c=n)(2)
add(n), add(1, 2, 3, c=n), add(*[1, 2], **{"z": n})
add(n, 1, c=2, d=4)
squared(n), squared(n)
kind(n), kind(s)
d.get("a"), d.get("zz", n), "a" in d, len(d)
d["zz"]
list(d), list(d.values()), list(d.items())
{**d, "n": n}
d | {"m": n}
d == dict(d), d.keys() & {"a"}
dict(sorted(d.items(), key=lambda kv: kv[0]))
TABLE["a"] + n
len(WORDS), "x" in WORDS
sorted(WORDS | {s})
frozenset([1, n]) | {2}
{1, n} & {1}, {1, n} - {1}, {1} <= {1, n}
collections.Counter(s)
collections.Counter(s).most_common(1)
collections.deque(xs, maxlen=2)
collections.OrderedDict(a=1, b=n)
collections.defaultdict(list, a=[n])
collections.ChainMap({"a": n}, d)["a"]
Pair(n), Pair(n, 2)._replace(left=s), Pair(1, n) == (1, n)
Pair(n)[1:], [*Pair(n)], Pair._fields
types.SimpleNamespace(a=n, b=s)
math.sqrt(n * n), math.floor(n / 2), math.pi > 3
max(xs + [n], key=lambda v: str(v)), min([n, 2])
any(v == n for v in xs), all(v for v in xs)
isinstance(n, bool), isinstance(n, int), type(n).__name__
(lambda a, *b, c=2: (a, b, c))(n, 1, c=3)
[f() for f in [lambda: i for i in range(2)]]
make_counter(n)(2)
(a0 := n, a0 + 1)[1]
VAR.get()
locals().get("n")
sorted(locals())
sys._getframe().f_code.co_name
globals()["total"]
x.shape, x.dim(), x.dtype
x[0], x[-1], x[1:]
x * n + 1
x.sum() > 0
float(x.sum())
x.tolist()
x.numpy() * 2
np.float32(2) * n
np.arange(3) + n
weft.stack([x, x]).shape
[v * 2 for v in x]
x.reshape(9)
x[n + 9]
x @ weft.ones(7)
1 / (n - 1)
[][n]
{}["k"]
None.foo
None + 1
n.foo
s + n
int("q")
"a" < n
len(n)
n()
undefined_name
boom(n)
note(n)
complex(n, 1) * 2j
bytes([n, 65]), bytearray(b"ab")[0]
slice(1, n).indices(5)
range(n, 9, 2)[1], 5 in range(n, 9), list(range(3, 0, -1))
int.__add__(n, 1), str.upper(s), list.__len__(xs)
hash((1, n)) == hash((1, n)), hash(s) == hash(s)
id(xs) == id(xs), xs is xs, n is n
memoryview(b"abc")[n % 3]
"".join(reversed(s)), list(reversed(xs))
getattr(s, "up" + "per")()
operator.itemgetter(0)(xs + [n]), operator.methodcaller("upper")(s)
iter(xs).__length_hint__()
COUNTERS[0](2)
COUNTERS[int(n) % 3]()
PAIRS[1](), PAIRS[3]()
PAIRS[0](n), PAIRS[3](), PAIRS[2](s), PAIRS[1]()
PAIRS[0].__closure__[0].cell_contents
[c() for c in COUNTERS]
[last := v for v in (1, n)], last
{k: v for k, v in zip(s, itertools.count(n))}
{**d, **{"a": n}}, [*xs, *s], (*xs,)
x[..., None].shape, x[None].shape, x[:, None].shape
sorted(d.items(), key=str)[0], max(d, key=str)
s.casefold(), s.swapcase(), s.rjust(6, "."), s.removeprefix("a"), s.splitlines()
s.translate({97: "Q"}), s.expandtabs(), s.isidentifier(), s[::-2], s.rpartition("b")
b"ab".hex(), b"ab" + bytes(s, "utf8"), int.from_bytes(b"a", "big"), (5).to_bytes(2, "little")
n.bit_length(), n.as_integer_ratio(), ~n, n ^ 5, pow(n, 3, 7)
math.gcd(n, 12), math.prod(xs), math.isclose(n / 3, 0.3), math.comb(5, n)
f"{n:>{len(s) + 3}}|{n / 7:.2e}|{n:08b}|{n:,}|{n=}|{s:_<5}|{x.shape}"
"{:{w}.{p}f}".format(n / 3, w=8, p=2), "%*d|%-4s|%x" % (4, n, s, n), format(n, "+d")
str(xs), repr(d), ascii(s), str((n, s)), str({n})
[*itertools.pairwise(s)], [*itertools.zip_longest(xs, s)], [*itertools.starmap(pow, [(n, 2)])]
[*itertools.takewhile(lambda v: v != n, [9, n, 3])], [*itertools.compress(s, [1, 0, 1])]
list(iter(lambda c=COUNTERS[0]: c() % 4, 0))
type("T", (), {"k": n})().k, type("T", (Pair,), {})(n).left
any(n == v or v for v in xs), sum((v for v in (n, 2)), start=1)
"""

STATEMENTS = """
n += 1
n = n * 2 % 7
s += "b"
s = s.replace("a", "ba")[:6]
xs.append(n)
xs.insert(0, s)
xs[0] = n
xs[1:1] = [n, n]
del xs[0]
xs.pop()
xs.remove(n)
xs.reverse()
xs.sort(key=str)
xs.extend(range(n % 3))
xs += [n]
xs = xs[:6]
xs = list(xs)
d["a"] = n
d[n] = s
d["t"] = x
d.update(b=n, c=x)
d.pop("a", None)
d.pop("zz")
d.setdefault("l", []).append(n)
del d["a"]
d |= {"u": n}
TABLE["a"] += 1
TABLE["b"].append(n)
TABLE = {"a": n, "b": []}
WORDS.add(s)
WORDS.discard("x")
total += n
a1, *b1, c1 = [n, 2, 3, s]; out.append((a1, b1, c1))
(a1, b1), c1 = (n, s), 3; out.append(a1)
x = x + n
x = x * 0.5
x = weft.tanh(x)
x += 1
x[0] = n
x = x if n % 2 else -x
x = -x if x.sum() > 3 else x
print("p", n)
print(s, end="")
note((n, s))
assert n < 6, "n is large"
out = out[-30:]
del s; s = "again"
global_step()
VAR.set(n)
out.append(xs); xs = []
out.append(d); d = {"fresh": n}
COUNTERS.reverse()
COUNTERS[0], COUNTERS[1] = COUNTERS[1], COUNTERS[0]
COUNTERS[0] = make_counter(n)
PAIRS[0](n)
PAIRS[:2], PAIRS[2:] = PAIRS[2:], PAIRS[:2]
PAIRS[1].__closure__[0].cell_contents = s
xs[1:2] = (n for _ in range(2))
del xs[::2]
xs[:] = [*reversed(xs)]
xs[-1:] = []
d = {**d, s: n}
d |= zip(s, xs)
n: int = n + 1
(n := n + 1)
x, y9 = x * 2, n; out.append(y9)
for xs[0] in range(2): out.append(xs)
(a4, *b4), d["q"] = s + "zz", n; out.append(b4)
del n; n = 2
x.add_(1)
x[1:] *= 2
total = total * 2 % 50
s, n = str(n), len(s)
"""
