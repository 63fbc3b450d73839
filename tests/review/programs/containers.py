"""Dicts, lists, sets, deques and what derives from them: order, views, iteration while they change."""

import collections
import copy
import itertools

import weft
from tests.review.harness import prog, x0


@prog
def set_order(C):
    def f(x):
        return [x * i for i in {10, 3, 7, 100, 33}]

    return C(f)(x0())


@prog
def set_order_str(C):
    names = ["b", "zeta", "a", "q", "hello"]

    def f(x, names):
        return list(set(names)), x + 1

    return C(f)(x0(), names)


@prog
def string_ops(C):
    def f(x, s, n):
        t = f"{s!r:>10}|{n:04d}|{x.shape}|{n=}|{'%s-%d' % (s, n)}|{s.upper():*^9}"
        return x + len(t), t, s.split(","), ",".join(sorted(s)), "{0}{k}".format(n, k=s), s.encode(), s[::-1]

    return C(f)(x0(), "a,b", 7)


@prog
def dict_order_ops(C):
    def f(x, d):
        d["z"] = 1
        d.pop("a")
        d["a"] = 2
        o = collections.OrderedDict(d)
        o.move_to_end("z")
        c = {**d, "q": 3} | {"r": 4}
        d2 = dict(sorted(c.items(), key=lambda kv: kv[0], reverse=True))
        dd = collections.defaultdict(list)
        dd["k"].append(1)
        return (
            x + d["z"],
            list(o),
            list(c),
            d2,
            dd,
            d.get("nope", 5),
            d.setdefault("new", []),
            d.items() >= {("z", 1)},
            "a" in d.keys(),
        )

    d = {"a": 0, "b": 1}
    return C(f)(x0(), d), d


@prog
def dict_mutated_during_iter(C):
    def f(x, d):
        for k in d:
            d[k + 1] = 1
            if k > 10:
                break
        return x

    return C(f)(x0(), {1: 1})


@prog
def counter_chainmap(C):
    def f(x, s):
        c = collections.Counter(s)
        m = collections.ChainMap({"a": 1}, {"b": 2})
        return x * c["a"], c.most_common(1), m["b"], dict(c)

    return C(f)(x0(), "aab")


@prog
def int_keys_bool(C):
    def f(x, d):
        return x * d[True] + d[1.0], {1: "a", True: "b", 1.0: "c"}, {0.0: 1, -0.0: 2}

    return C(f)(x0(), {1: 2})


@prog
def int_str_subclasses(C):
    class I(int):
        def __add__(self, o):
            return 100

    class S(str):
        def up(self):
            return self.upper()

    class D(dict):
        def __missing__(self, k):
            return 9

    class Ls(list):
        def total(self):
            return sum(self)

    i, s, d, l = I(3), S("ab"), D(a=1), Ls([1, 2])
    f = C(lambda x: (x * i, i + 1, s.up(), d["zz"], d["a"], l.total(), l + [3]))
    return f(x0())


@prog
def dict_subclass_ctor(C):
    class Out(collections.OrderedDict):
        def __getattr__(self, k):
            return self[k]

        def to_tuple(self):
            return tuple(self.values())

    def f(x):
        o = Out(a=x + 1, b=x * 2)
        o["c"] = o.a + o["b"]
        return o

    r = C(f)(x0())
    return type(r).__name__, dict(r), r.to_tuple()


@prog
def userdict_obj(C):
    class O(collections.UserDict):
        pass

    def f(x):
        o = O()
        o["k"] = 2
        return x * o["k"], dict(o), len(o), "k" in o

    return C(f)(x0())


@prog
def dict_clear_refill_order(C):
    d = {"a": 1, "b": 2}

    class W(dict):
        pass

    def f(x):
        v = d.pop("a")
        d["a"] = v
        del d["b"]
        d["b"] = 5
        return x * 2, list(d)

    return C(f)(x0()), d


@prog
def default_dict_missing(C):
    d = collections.defaultdict(list)
    d["q"].append(0)

    def f(x):
        d["k"].append(1)
        d["k"].append(2)
        n = d.get("zz")
        return x * len(d["new"]), n, "zz" in d

    f = C(f)
    r = [f(x0()), f(x0())]
    return r, dict(d)


@prog
def ordered_dict_subclass_attr(C):
    class Reg(collections.OrderedDict):
        tag = "t"

    d = Reg(a=1)

    def f(x):
        d["b"] = 2
        return x * len(d), list(d), d.tag

    return C(f)(x0()), dict(d)


@prog
def set_iteration_floats(C):
    s = {0.1, 1e16, -1e16, 3.3}

    def f(x):
        return x + sum(s), [v for v in s]

    return C(f)(x0())


@prog
def set_ops_order(C):
    def f(x):
        return (
            x,
            list({3, 1} | {2, 9, 17}),
            list({"b", "a"} & {"a", "b", "c"}),
            list(set(range(10, 0, -1))),
            list(frozenset([9, 1, 8])),
            list({k: 1 for k in "zyx"}.keys() | {"q"}),
        )

    return C(lambda x: (x * 2, f(x)))(x0())


@prog
def dict_views_live(C):
    def f(x):
        d = {"a": 1}
        k = d.keys()
        v = d.values()
        it = iter(d.items())
        d["b"] = 2
        try:
            n = next(it)
        except RuntimeError as e:
            n = str(e)
        return x, list(k), list(v), n

    return C(lambda x: (x * 2, f(x)))(x0())


@prog
def list_changed_while_iter(C):
    def f(x):
        l = [1, 2, 3]
        out = []
        for v in l:
            out.append(v)
            if v == 1:
                l.remove(2)
        l.sort(key=lambda v: -v)
        try:
            [1].remove(5)
        except ValueError as e:
            out.append(str(e))
        return x * 2, out, l

    return C(f)(x0())


@prog
def unhashable(C):
    def f(x):
        out = []
        for fn in (
            lambda: {[]: 1},
            lambda: {1: 2}[[]],
            lambda: set([[1]]),
            lambda: len({tuple([[1]])}),
            lambda: [] in {1},
            lambda: hash([]),
            lambda: {}.get([]),
            lambda: frozenset([[]]),
        ):
            try:
                out.append(repr(fn()))
            except TypeError as e:
                out.append(str(e))
        return x * 2, out

    return C(f)(x0())


@prog
def deque_subclass_truth(C):
    class Buf(collections.deque):
        pass

    b = Buf()
    f = C(lambda x: x * 2 if b else x * 3)
    a = f(x0())
    b.append(1)
    return a, f(x0())


@prog
def attrdict(C):
    class AD(dict):
        __getattr__ = dict.__getitem__
        __setattr__ = dict.__setitem__

    c = AD(k=2, sub=AD(z=3))
    f = C(lambda x: x * c.k + c.sub.z)
    a = f(x0())
    c.k = 5
    return a, f(x0())


@prog
def big_const_containers(C):
    t = tuple(range(3000))
    d = {i: i for i in range(500)}
    f = C(lambda x: x * t[2999] + d[7] + len(t))
    return f(x0())


@prog
def sort_key_tensor(C):
    def f(l):
        return sorted(l, key=lambda t: t.shape[0]), max(l, key=len), [*map(len, l)], sum(l[0]), dict(enumerate(l))[1]

    return C(f)([weft.ones(3), weft.ones(1)])


@prog
def starred(C):
    def f(x, *args, k=1, **kw):
        a, *b, c = args
        (d, *e), g = b[0], kw
        return x * a + c, b, d, e, {**g, "k": k}, [*b, *e], (lambda *p, **q: (p, q))(*b, **g)

    f = C(f)
    return f(x0(), 1, (2, 3, 4), 5, k=2, z=9), f(x0(), 1, "ab", 5, y=1)


@prog
def walrus_comp_scope(C):
    def f(x, xs):
        out = [y := v * 2 for v in xs if (z := v) > 0]
        v = 10
        d = {k: (lambda: k)() for k in xs}
        fs = [lambda i=i: i for i in range(3)]
        gs = [lambda: i for i in range(3)]
        return x * y + z, out, v, d, [q() for q in fs], [q() for q in gs]

    return C(f)(x0(), [1, -2, 3])


@prog
def any_all_shortcircuit_gen(C):
    log = []

    def g():
        for i in range(5):
            log.append(i)
            yield i

    def f(x):
        return x + any(v == 2 for v in g()), 1 in g(), [*itertools.takewhile(lambda v: v < 2, g())], log[:]

    return C(f)(x0())


@prog
def chained_and_bool_ops(C):
    def f(x, a, b):
        return (
            x * (a or b),
            a and b,
            not a,
            0 < a < b,
            a if a > b else b,
            (a, b) < (b, a),
            [a] * 2 + [b],
            a == b == 1,
            a is None or b,
        )

    f = C(f)
    return f(x0(), 0, 3), f(x0(), 2, 1), f(x0(), 1, 1)


@prog
def deep_copies_keep_what_is_shared(C):
    def f(x, d):
        c = copy.deepcopy(d)
        t = (1, ("a",))
        return x, c, c["l"][1] is c["m"], c["l"] is d["l"], copy.deepcopy(t) is t, copy.deepcopy([t, t])

    f = C(f)
    m = [5]
    return [f(x0(), {"l": [1, m], "m": m}), f(x0(), {"l": [1, m], "m": m})]


@prog
def deques_of_negative_size(C):
    def f(x):
        try:
            d = collections.deque([1], maxlen=-1)
        except ValueError as e:
            return x + 1, str(e)
        return x * 2, d

    return C(f)(x0())


@prog
def taken_one_by_one(C):
    def two(log):
        for i in range(9):
            log.append(i)
            yield i

    def failing():
        yield 1, 2
        yield 3, 4
        raise KeyError("stop")

    def f(x, d, xs):
        log = []
        for function in (lambda: d.update([(5, 6), (7,)]), lambda: d.update(failing()), lambda: xs.extend(failing())):
            try:
                function()
            except (ValueError, KeyError) as e:
                log.append(str(e))
        try:
            a, b = two(log)
        except ValueError as e:
            log.append(str(e))
        try:
            a, b = itertools.count()
        except ValueError as e:
            log.append(str(e))
        return x, d, xs, log

    f = C(f)
    return [f(x0(), {1: 2}, [0]), f(x0(), {1: 2}, [0])]


@prog
def sorts_that_fail_half_way(C):
    def f(x, xs):
        try:
            xs.sort()
        except TypeError as e:
            return x + 1, xs, str(e)
        return x, xs

    f = C(f)
    return [f(x0(), [3, 1, "a", 2]), f(x0(), [3, 1, "a", 2]), f(x0(), [3, 1])]


@prog
def sets_looked_for_in_sets(C):
    def f(x):
        s = {frozenset([1]), 2}
        found = {1} in s, {3} in s
        s.discard({1})
        return x, found, s, [1].__iadd__([2]), collections.Counter("ab") == {"a": 1, "b": 1}, {"a": 1} != collections.Counter("a")

    return C(f)(x0())
