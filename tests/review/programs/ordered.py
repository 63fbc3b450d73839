"""The order and the attributes of OrderedDicts; which class copies and results of operators have."""

import collections

from tests.review.harness import prog, times, told_whole, x0


@prog
def od_moved(C):
    d = collections.OrderedDict(a=1, b=2, c=3)

    def f(x):
        return x * next(iter(d.values())), list(d)

    c = C(f)
    r = [c(x0())]
    d.move_to_end("a")
    r.append(c(x0()))
    d.move_to_end("c", last=False)
    r.append(c(x0()))
    return r


@prog
def od_moved_objects(C):
    class K:
        pass

    k, j = K(), K()
    k.n, j.n = 1, 2
    d = collections.OrderedDict([(k, 1), (j, 2)])

    def f(x):
        return x * next(iter(d)).n, [q.n for q in d]

    c = C(f)
    r = [c(x0())]
    d.move_to_end(k)
    r.append(c(x0()))
    d.move_to_end(j)
    r.append(c(x0()))
    return r


@prog
def od_sub_moved(C):
    class OD(collections.OrderedDict):
        pass

    d = OD(a=1, b=2, c=3)

    def f(x):
        return x * next(iter(d.values())), list(d), d.popitem(last=False)

    c = C(f)
    d.move_to_end("a")
    r = [c(x0())]
    d["q"] = 1
    d["b"] = 5
    d.move_to_end("a")
    r.append(c(x0()))
    d.move_to_end("q", last=False)
    r.append(c(x0()))
    return r


@prog
def od_attr(C):
    d = collections.OrderedDict(a=1, b=2)

    def f(x):
        return x * len(list(d.keys())), d.get("a"), getattr(d, "zz", None), hasattr(d, "yy")

    c = C(f)
    r = [c(x0())]
    d.zz = 4
    r.append(c(x0()))
    d.keys = lambda: [1, 2, 3]
    r.append(c(x0()))
    del d.keys
    d.get = 5
    r.append(told_whole(c, x0()))
    return r


@prog
def od_attr_set_inside(C):
    def f(x):
        d = collections.OrderedDict(a=1)
        d.tag = 5
        return x + d.tag, d.__dict__

    return times(C, f, (x0(),), (x0(),))


@prog
def copies(C):
    class OD(collections.OrderedDict):
        pass

    class DD(collections.defaultdict):
        pass

    class DQ(collections.deque):
        pass

    class CT(collections.Counter):
        pass

    class L(list):
        pass

    class S(set):
        pass

    class DC(dict):
        pass

    class CM(collections.ChainMap):
        pass

    class FS(frozenset):
        pass

    class OI(collections.OrderedDict):
        def __init__(self, *a, **k):
            super().__init__(*a, **k)
            self.n = 7

        def __setitem__(self, k, v):
            super().__setitem__(k, v * 2)

    def f(x, o):
        k = o.copy()
        return x + 1, type(k).__name__, k, k == o, k is o, getattr(k, "n", None), isinstance(k, dict)

    return times(
        C,
        f,
        *(
            (x0(), o)
            for o in [
                OD(a=1),
                OD(),
                DD(list, a=1),
                DQ([1]),
                CT("aa"),
                L([1]),
                S([1]),
                DC(a=1),
                CM({"a": 1}),
                FS([1]),
                OI(a=3),
                collections.OrderedDict(a=1),
                collections.defaultdict(int, a=1),
            ]
        ),
    )


@prog
def copies_new(C):
    class OD(collections.OrderedDict):
        pass

    class DD(collections.defaultdict):
        pass

    class S(set):
        pass

    class DC(dict):
        pass

    class FS(frozenset):
        pass

    class L(list):
        pass

    def f(x):
        out = []
        for o in (OD(a=1), DD(list, a=1), S([1]), DC(a=1), FS([1]), L([1]), collections.OrderedDict(a=1)):
            k = o.copy()
            out.append((type(k).__name__, k == o, k is o))
        return x + 1, out

    return times(C, f, (x0(),), (x0(),))


@prog
def set_ops_types(C):
    class S(set):
        pass

    class FS(frozenset):
        pass

    class L(list):
        pass

    class DC(dict):
        pass

    class T(tuple):
        pass

    class Q(str):
        pass

    class I(int):
        pass

    def f(x):
        s, fs, l, d, t, q, i = S([1, 2]), FS([1]), L([1]), DC(a=1), T((1,)), Q("ab"), I(3)
        return x + 1, [
            type(v).__name__
            for v in (
                s | {3},
                {3} | s,
                s & s,
                s - {1},
                s ^ fs,
                fs | s,
                fs & fs,
                s.union([1]),
                fs.difference([1]),
                l + [1],
                l * 2,
                l[:],
                d | {},
                {} | d,
                t + (1,),
                t[:],
                t * 1,
                q + "c",
                q[:],
                q.upper(),
                q * 1,
                i + 1,
                -i,
                +i,
                abs(i),
                i // 1,
                int(i),
                str(q),
                list(l),
                tuple(t),
                set(s),
                frozenset(fs),
                dict(d),
                "%s" % q,
                f"{q}",
                q.format(),
                q.strip(),
            )
        ]

    return times(C, f, (x0(),), (x0(),))


@prog
def od_moved_by_reading(C):
    class Recent(collections.OrderedDict):
        def __getitem__(self, k):
            self.move_to_end(k)
            return super().__getitem__(k)

    def made(x):
        d = Recent()
        d["a"] = x
        d["b"] = x + 1
        d["c"] = x * 2
        return d

    def f(x):
        d = made(x)
        d["b"]
        return (
            told_whole(made(x).copy), told_whole(d.copy), told_whole(collections.OrderedDict, made(x)), told_whole(lambda: made(x) | {}),
            told_whole(dict, made(x)), list(d),
        )  # fmt: skip

    return times(C, f, (x0(),), (x0(),))


@prog
def sets_from_outside_shown(C):
    def f(x, s, t):
        return x + 1, f"{s}", str(t), repr([s]), "%s" % (t,)

    return times(C, f, (x0(), {7, 15, 23, 31, 39}, frozenset([33, 1, 9])), (x0(), {39, 31, 23, 15, 7}, frozenset([1, 33])))
