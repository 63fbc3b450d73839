"""What lies in containers and iterators, in which order, and what changes it."""

import collections
import itertools
import sys
import types

from tests.review.harness import prog, times, told_whole, x0


@prog
def dict_order(C):
    def f(x, d):
        for i, k in enumerate(d):
            x = x + (i + 1) * d[k]
        return x, list(d.items())

    c = C(f)
    d = {"a": 1, "b": 2}
    r = [c(x0(), d)]
    d.pop("a")
    d["a"] = 1
    r.append(c(x0(), d))
    d = {"b": 2, "a": 1}
    r.append(c(x0(), d))
    return r


@prog
def dict_views(C):
    d = {"a": 1, "b": 2}

    def f(x):
        k = d.keys()
        v = d.values()
        i = d.items()
        d["c"] = 3
        y = (
            x * len(k),
            list(v),
            list(i),
            k & {"a", "z"},
            k | {"q"},
            k - {"a"},
            k ^ {"a", "q"},
            k == {"a", "b", "c"},
            ("a", 1) in i,
            3 in v,
            list(reversed(d)),
            k.isdisjoint({"z"}),
        )
        del d["c"]
        return [sorted(t) if isinstance(t, set) else t for t in y]

    c = C(f)
    r = [c(x0())]
    d["z"] = 5
    r.append(c(x0()))
    return r


@prog
def dict_changed_during_iter(C):
    def f(x, d):
        try:
            for k in d:
                x = x + 1
                d[k + "x"] = 1
        except RuntimeError as e:
            return x, str(e), d

    return times(C, f, (x0(), {"a": 1}), (x0(), {"a": 1, "b": 2}))


@prog
def list_changed_during_iter(C):
    def f(x, l):
        n = 0
        for k in l:
            n += 1
            if n < 5:
                l.append(k)
            if n == 2:
                l.pop(0)
        return x * n, l

    return times(C, f, (x0(), [1, 2]), (x0(), [1]))


@prog
def dict_update_forms(C):
    def f(x):
        d = {"a": 1}
        d.update([("b", 2)], c=3)
        d |= {"d": 4}
        e = d | {"a": 9}
        d.setdefault("z")
        d.setdefault("a", 5)
        p = d.popitem()
        g = dict.fromkeys("abc", 0)
        h = dict(zip("ab", [1, 2]), q=3)
        return x, d, e, p, g, h, {**d, "y": 1}, d.pop("nope", None)

    return times(C, f, (x0(),), (x0(),))


@prog
def defaultdict_(C):
    d = collections.defaultdict(list)

    def f(x, k):
        d[k].append(1)
        return x * len(d[k]), d.get("zz"), dict(d), d.default_factory is list

    c = C(f)
    r = [c(x0(), "a"), c(x0(), "a"), c(x0(), "b")]
    d.default_factory = None
    r.append(told_whole(c, x0(), "q"))
    d.default_factory = lambda: [1, 2]
    r.append(c(x0(), "q"))
    return r


@prog
def counter_(C):
    def f(x, s):
        k = collections.Counter(s)
        k.update("aa")
        k.subtract("b")
        return (
            x * k["a"],
            k.most_common(2),
            k + collections.Counter("a"),
            k - collections.Counter("aaa"),
            k & collections.Counter("ab"),
            k["none"],
            list(k.elements()),
            k.total(),
        )

    return times(C, f, (x0(), "abc"), (x0(), "zz"))


@prog
def ordereddict_(C):
    def f(x):
        d = collections.OrderedDict(a=1, b=2, c=3)
        d.move_to_end("a")
        d.move_to_end("c", last=False)
        p = d.popitem(last=False)
        return x, list(d.items()), p, d == collections.OrderedDict(a=1, b=2), d == {"a": 1, "b": 2}, repr(d), list(reversed(d))

    return times(C, f, (x0(),), (x0(),))


@prog
def set_ops(C):
    s = {1, 2, 3}

    def f(x, t):
        return (
            x * len(s & t),
            sorted(s | t),
            sorted(s - t),
            sorted(s ^ t),
            s <= t,
            s >= t,
            s.isdisjoint(t),
            s == t,
            1 in t,
            sorted(s.union([9], (8,))),
        )

    c = C(f)
    r = [c(x0(), {1, 2}), c(x0(), {1, 2, 3}), c(x0(), frozenset([7])), c(x0(), {1.0, True})]
    s.add(7)
    r.append(c(x0(), frozenset([7])))
    return r


@prog
def set_mutating(C):
    def f(x, s):
        s.add(5)
        s.discard(1)
        s |= {7}
        s.update([8])
        s -= {2}
        try:
            s.remove(99)
        except KeyError as e:
            return x, sorted(s), e.args

    return times(C, f, (x0(), {1, 2}), (x0(), {1}))


@prog
def list_methods(C):
    def f(x, l):
        l.insert(1, 9)
        l.extend((7, 8))
        l.reverse()
        l.remove(7)
        p = l.pop()
        q = l.pop(0)
        l.sort()
        l += [1]
        l *= 2
        l[1:3] = [0, 0, 0]
        del l[0]
        l[::2] = [5] * len(l[::2])
        return x, l, p, q, l.index(5), l.count(5), l == list(l), l < [9], l[-1], l[5:1:-1], [l] == [l], l.copy() is l

    return times(C, f, (x0(), [1, 2, 3]), (x0(), [4]))


@prog
def list_self_ref(C):
    def f(x):
        l = [1]
        l.append(l)
        d = {}
        d["d"] = d
        return x, l[1] is l, d["d"]["d"] is d, repr(l), repr(d)

    return times(C, f, (x0(),), (x0(),))


@prog
def deque_(C):
    q = collections.deque([1, 2, 3], maxlen=3)

    def f(x):
        q.append(4)
        q.appendleft(0)
        q.rotate(1)
        return x * q[0], list(q), q.maxlen, len(q)

    c = C(f)
    return c(x0()), c(x0()), list(q)


@prog
def chainmap_(C):
    m = collections.ChainMap({"a": 1}, {"b": 2})

    def f(x):
        m["c"] = 5
        return x * m["a"], m["b"], len(m), dict(m), m.maps

    c = C(f)
    r = [c(x0())]
    m.maps[1]["b"] = 7
    m.maps[0]["a"] = 3
    r.append(c(x0()))
    return r


@prog
def mappingproxy_(C):
    d = {"a": 1}
    p = types.MappingProxyType(d)
    c = C(lambda x: (x * p["a"], len(p), list(p), "b" in p))
    r = [c(x0())]
    d["a"] = 2
    d["b"] = 1
    r.append(c(x0()))
    return r


@prog
def itertools_(C):
    it = itertools.count(5)
    cy = itertools.cycle([1, 2])

    def f(x):
        return (
            x * next(it) + next(cy),
            list(itertools.accumulate([1, 2, 3], initial=1)),
            list(itertools.groupby("aab"))[0][0],
            list(itertools.islice(it, 2)),
            list(itertools.pairwise([1, 2, 3])),
            list(itertools.product("ab", repeat=2))[1],
            list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
            list(itertools.batched([1, 2, 3], 2)) if sys.version_info >= (3, 12) else 0,
        )

    c = C(f)
    r = [c(x0()), c(x0())]
    return r, next(it), next(cy)


@prog
def iter_objects(C):
    l = [1, 2, 3]
    it = iter(l)
    e = enumerate(l)
    z = zip(l, "ab")
    m = map(lambda v: v * 2, l)
    fl = filter(None, [0, 1, 2])
    rv = reversed(l)

    def f(x):
        return x + next(it), next(e, None), next(z, None), next(m, None), next(fl, None), next(rv, None)

    c = C(f)
    r = [told_whole(c, x0()) for _ in range(4)]
    return r, list(e), list(m)
