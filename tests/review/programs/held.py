"""Containers and objects that are kept, shared, copied, pickled, compared and changed while somebody walks through them."""

import collections
import copy
import dataclasses
import heapq
import pickle
import typing

from tests.review.harness import prog, told, x0


@dataclasses.dataclass
class Point:
    a: int
    b: list = dataclasses.field(default_factory=list)
    k: typing.ClassVar[int] = 3
    t: dataclasses.InitVar[int] = 1
    hidden: int = dataclasses.field(default=4, repr=False, compare=False)

    def __post_init__(self, t):
        self.sum = self.a + t


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Frozen:
    a: int
    b: float = 2.0


class Pair(typing.NamedTuple):
    a: int
    b: int = 2

    @property
    def both(self):
        return self.a + self.b


@prog
def dataclasses_all_over(C):
    def f(x, n):
        p = Point(n, t=5)
        q = dataclasses.replace(p, a=9, t=1)
        p.b.append(n)
        return (
            x * p.sum,
            p,
            q,
            p == q,
            told(dataclasses.replace, p, zz=1, t=1),
            dataclasses.asdict(p),
            dataclasses.astuple(q),
            [g.name for g in dataclasses.fields(p)],
            dataclasses.is_dataclass(p),
            told(hash, p),
            repr(p),
            Point.k,
        )

    c = C(f)
    return c(x0(), 1), c(x0(), 2), c(x0(), 3)


@prog
def frozen_slots(C):
    def f(x, o):
        return (
            x * o.a,
            told(setattr, o, "a", 3),
            told(setattr, o, "zz", 3),
            told(delattr, o, "a"),
            hash(o) == hash((o.a, o.b)),
            o < Frozen(2),
            sorted([Frozen(3), o]),
            {o: 1}[Frozen(o.a, o.b)],
            dataclasses.replace(o, b=1.0),
            o.__slots__,
            told(lambda: o.__dict__),
            told(lambda: o < 3),
        )

    c = C(f)
    return c(x0(), Frozen(1)), c(x0(), Frozen(2, 3.0))


@prog
def named_tuples(C):
    def f(x, p):
        a, b = p
        return (
            x * p.both,
            p._replace(a=7),
            p._asdict(),
            p._fields,
            p + (1,),
            p == (a, b),
            Pair._make([4, 5]),
            told(Pair),
            told(setattr, p, "a", 3),
            p[::-1],
            repr(p),
            type(p[:]).__name__,
            hash(p) == hash((a, b)),
            p.index(b),
            Pair._field_defaults,
        )

    c = C(f)
    return c(x0(), Pair(1)), c(x0(), Pair(3, 4))


@prog
def copies_share_what_they_share(C):
    class A:
        def __init__(self):
            self.l = [1]
            self.m = self.l
            self.me = self

        def __deepcopy__(self, memo):
            log.append("deep")
            new = A.__new__(A)
            memo[id(self)] = new
            new.__dict__.update(copy.deepcopy(self.__dict__, memo))
            return new

    log = []

    def f(x, o):
        s, d = copy.copy(o), copy.deepcopy(o)
        d.l.append(2)
        s.l.append(3)
        return (
            x + len(o.l),
            d.m is d.l,
            d.me is d,
            s.me is o,
            o.l,
            d.l,
            copy.copy([x])[0] is x,
            copy.deepcopy((1, 2)),
            copy.copy({1: [2]}),
        )

    c = C(f)
    return c(x0(), A()), c(x0(), A()), log


@prog
def pickles_inside(C):
    def f(x, o):
        t = pickle.loads(pickle.dumps(o))
        return x + 1, t == o, t is o, type(t).__name__

    c = C(f)
    return [c(x0(), o) for o in (Frozen(3), [1, {2: 3}], Pair(1), collections.OrderedDict(a=1), 3.5)]


@prog
def dict_changes_while_walked(C):
    def f(x, k):
        d = {"a": 1, "b": 2, "c": 3}
        seen = []
        try:
            for key in d:
                seen.append(key)
                if k == 0:
                    d["z"] = 1
                elif k == 1:
                    del d[key]
                elif k == 2:
                    d[key] = 9
                elif k == 3:
                    d.pop("b", None)
                    d["b"] = 5
        except RuntimeError as e:
            seen.append(str(e))
        return x, seen, list(d.items())

    c = C(f)
    return [c(x0(), k) for k in range(5)]


@prog
def dict_from_outside_changes_while_walked(C):
    d = {"a": 1, "b": 2}

    def f(x, k):
        seen = []
        try:
            for key, v in d.items():
                seen.append((key, v))
                if k:
                    d[key + "!"] = v
        except RuntimeError as e:
            seen.append(str(e))
        return x * len(d), seen

    c = C(f)
    return c(x0(), 0), c(x0(), 1), c(x0(), 0), d


@prog
def views_live_and_compare(C):
    d = {"a": 1, "b": 2}
    keys, items = d.keys(), d.items()

    def f(x):
        k = d.keys()
        d["c"] = 3
        return (
            x + len(k),
            sorted(k & {"a", "c", "z"}),
            k - {"a"},
            "c" in keys,
            ("a", 1) in items,
            k == {"a", "b", "c"},
            k.isdisjoint(["q"]),
            list(reversed(d)),
            list(reversed(d.values())),
            keys.mapping["c"],
            sorted(k | ["z"]),
            k ^ {"a"},
            told(lambda: k["a"]),
            repr(k),
        )

    c = C(f)
    a = c(x0())
    d["e"] = 5
    return a, c(x0()), list(keys), len(items)


@prog
def ordered_dicts(C):
    def f(x, d):
        d.move_to_end("a")
        d.move_to_end("c", last=False)
        p = d.popitem(last=False)
        d["z"] = 1
        return (
            x,
            list(d),
            p,
            d == dict(d),
            d == collections.OrderedDict(reversed(list(d.items()))),
            told(d.move_to_end, "q"),
            list(reversed(d)),
            repr(d),
            d | {"y": 2},
        )

    c = C(f)
    a, b = (collections.OrderedDict(a=1, b=2, c=3) for _ in range(2))
    return c(x0(), a), c(x0(), b), a, b


@prog
def counters(C):
    def f(x, n):
        a = collections.Counter(n)
        a.update(["z", "a"])
        a.subtract({"b": 5})
        b = collections.Counter(a=1, q=0)
        return (
            x + a["missing"],
            a.most_common(2),
            a + b,
            a - b,
            a & b,
            a | b,
            -a,
            +a,
            sorted(a.elements()),
            a.total(),
            "missing" in a,
            a == b,
            a <= b,
            told(a.fromkeys, "a"),
            list(a),
        )

    c = C(f)
    return c(x0(), "abca"), c(x0(), "bb"), c(x0(), [])


@prog
def chain_maps(C):
    base = {"a": 1}

    def f(x):
        m = collections.ChainMap({}, base)
        m["b"] = 2
        n = m.new_child({"a": 5})
        return (
            x * n["a"],
            m["a"],
            dict(m),
            list(n),
            n.maps[0],
            n.parents["a"],
            told(lambda: m["zz"]),
            told(m.pop, "a"),
            len(n),
            "b" in n,
        )

    c = C(f)
    r = [c(x0())]
    base["a"] = 7
    base["c"] = 8
    r.append(c(x0()))
    return r, base


@prog
def deques(C):
    shared = collections.deque([1, 2, 3], maxlen=4)

    def f(x, n):
        shared.append(n)
        shared.appendleft(n * 10)
        shared.rotate(1)
        seen = []
        try:
            for v in shared:
                seen.append(v)
                if n == 3:
                    shared.append(0)
        except RuntimeError as e:
            seen.append(str(e))
        return (
            x + len(shared),
            list(shared),
            shared.maxlen,
            seen,
            shared[0],
            told(shared.index, 99),
            shared.count(n),
            told(shared.insert, 0, 1),
            told(lambda: shared[9]),
            shared == collections.deque(shared),
            told(lambda: shared[0:1]),
        )

    c = C(f)
    return [c(x0(), n) for n in (1, 2, 3)], shared


@prog
def heaps_and_bisect(C):
    import bisect

    def f(x, h, n):
        heapq.heappush(h, n)
        a = heapq.heappop(h)
        s = sorted(h)
        bisect.insort(s, n, key=lambda v: v)
        return (
            x + a,
            h,
            heapq.nsmallest(2, h),
            heapq.nlargest(2, h, key=lambda v: -v),
            list(heapq.merge(s, [0, 9])),
            bisect.bisect_left(s, 2),
            heapq.heapreplace(h, 4),
            told(heapq.heappop, []),
            told(heapq.heappush, h, "a"),
        )

    c = C(f)
    a, b = [3, 5], [1, 9, 9]
    heapq.heapify(a)
    return c(x0(), a, 2), c(x0(), b, 4), a, b


@prog
def sets_of_objects(C):
    class K:
        def __init__(self, n, log):
            self.n, self.log = n, log

        def __hash__(self):
            self.log.append(("hash", self.n))
            return self.n % 2

        def __eq__(self, o):
            self.log.append(("eq", self.n, o.n))
            return self.n == o.n

        def __repr__(self):
            return f"K{self.n}"

    def f(x, log):
        a, b, d = K(1, log), K(3, log), K(1, log)
        s = {a}
        s.add(b)
        s.add(d)
        s.discard(K(3, log))
        m = {a: 1, b: 2}
        m[d] = 3
        return x + len(s), [repr(v) for v in s], m[K(3, log)], d in s, [repr(k) for k in m]

    c = C(f)
    l1, l2 = [], []
    return c(x0(), l1), l1, c(x0(), l2), l2


@prog
def sort_key_changes_the_list(C):
    def f(x, k):
        l = [3, 1, 2]

        def key(v):
            if k == 0:
                l.append(v)
            elif k == 1:
                l.clear()
            return -v

        r = told(l.sort, key=key)
        return x, r, l, told(sorted, [1, "a"]), sorted([True, 0.5, 2], key=float), sorted("bA", key=str.lower, reverse=True)

    c = C(f)
    return [c(x0(), k) for k in range(3)]
