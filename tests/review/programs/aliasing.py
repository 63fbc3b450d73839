"""One object under two names, views, in-place changes, stores to what is shared."""

import sys
import types

import weft
from tests.review.harness import prog, x0


@prog
def aliased_lists(C):
    def f(a, b, x):
        a.append(1)
        return x * len(b)

    f = C(f)
    r = f([], [1, 2], x0())
    l = [5]
    s = f(l, l, x0())
    l2 = [1, 2]
    t = f(l2, l2, x0())
    return r, s, t, l, l2


@prog
def aliased_lists_same_len(C):
    def f(a, b, x):
        a.append(1)
        return x * len(b)

    f = C(f)
    r = f([7], [1], x0())
    l = [1]
    s = f(l, l, x0())
    return r, s, l


@prog
def aliased_objects(C):
    class O:
        def __init__(self):
            self.v = 2

    def f(p, q, x):
        p.v = 3
        return x * q.v

    f = C(f)
    r = f(O(), O(), x0())
    o = O()
    s = f(o, o, x0())
    return r, s


@prog
def aliased_dicts(C):
    def f(p, q, x):
        p["v"] = 3
        return x * q["v"]

    f = C(f)
    r = f({"v": 2}, {"v": 2}, x0())
    o = {"v": 2}
    s = f(o, o, x0())
    return r, s


@prog
def two_paths_object_root(C):
    m = types.ModuleType("usermod")
    exec("cur = None\ndef get(): return cur", m.__dict__)
    a, b = x0(), x0() + 10
    m.cur = a
    f = C(lambda x: x * 2 + m.get())
    r = f(a)
    m.cur = b
    s = f(a)
    return r, s


@prog
def two_paths_object_root2(C):

    m = types.ModuleType("usermod2")
    sys.modules["usermod2"] = m

    class Cfg:
        pass

    c1, c2 = Cfg(), Cfg()
    c1.k = 2.0
    c2.k = 3.0
    m.CFG = c1

    def f(cfg, x):
        import usermod2

        return x * cfg.k * usermod2.CFG.k

    f = C(f)
    r = f(c1, x0())
    m.CFG = c2
    s = f(c1, x0())
    return r, s


@prog
def instance_dict_alias(C):
    class O:
        pass

    o = O()
    o.a = 1

    def f(o, x):
        return x * o.a, o.__dict__

    r = C(f)(o, x0())
    o.a = 5
    return r[1]


@prog
def selfref_list(C):
    def f(x):
        l = [x + 1]
        l.append(l)
        d = {}
        d["d"] = d
        return l, d

    l, d = C(f)(x0())
    return l[1] is l, d["d"] is d, l[0]


@prog
def identity_returned(C):
    def f(x, l, d, t):
        l.append(1)
        return x, l, d, t, [x, x + 0], x.view(-1)

    x, l, d, t = x0(), [1], {"a": 1}, (1, [2])
    r = C(f)(x, l, d, t)
    return r[0] is x, r[1] is l, r[2] is d, r[3] is t, r[3][1] is t[1], r[4][0] is x, r[5]._base is x, l


@prog
def swap_globals_attrs(C):
    class O:
        pass

    o = O()
    o.a, o.b = [1], [2]

    def f(o, x):
        o.a, o.b = o.b, o.a
        o.a.append(3)
        return x + len(o.a)

    f = C(f)
    out = [f(o, x0()), f(o, x0())]
    return out, o.a, o.b


@prog
def partial_effects_then_raise(C):
    class O:
        n = 0

    o = O()
    l = []

    def f(o, l, x):
        o.n += 1
        l.append(o.n)
        y = x + 1
        x.add_(1)
        if o.n == 2:
            raise ValueError("stop")
        return y.view(2, 3) if o.n == 3 else y

    f = C(f)
    out = []
    x = x0()
    for _ in range(4):
        try:
            out.append(f(o, l, x))
        except Exception as e:
            out.append((type(e).__name__, str(e)[:40]))
    return out, o.n, l, x


@prog
def inplace_aliasing(C):
    def f(a, b):
        a.add_(1)
        b.mul_(2)
        return a + b

    f = C(f)
    out = []
    x = weft.arange(8.0)
    out.append(f(x[:4], x[4:]))
    out.append(f(x[:4], x[2:6]))
    out.append(f(x, x))
    out.append(f(x, x.detach()))
    out.append(f(x.view(2, 4), x.view(2, 4).clone()))
    out.append(x)
    return out


@prog
def inplace_views(C):
    def f(x):
        y = x.view(2, 2)
        z = y[0]
        z += 10
        y.t()[1].mul_(3)
        x[1:3] = x[1:3].flip(0)
        return y, z, x.sum()

    f = C(f)
    x = x0()
    r = f(x)
    return r, x, f(x), x


@prog
def data_and_grad_assign(C):
    p = weft.ones(4, requires_grad=True)

    def f(p, x):
        with weft.no_grad():
            p.add_(x)
            p.data.mul_(2)
        p.grad = x * 3 if p.grad is None else p.grad + x
        return (p * 2).sum()

    f = C(f)
    out = [f(p, x0()) for _ in range(3)]
    return out, p, p.grad


@prog
def nested_side_effects(C):
    class O:
        pass

    o = O()
    o.d = {"l": [1], "s": {1}}
    o.self = o

    def f(o, x):
        o.d["l"].append(x.sum())
        o.d["new"] = t = [o.d["l"], o.d["l"]]
        o.self.k = len(t)
        o.d["l"] += [5]
        o.d["s"] = o.d["s"] | {2}
        t[0].insert(0, "z")
        return t, o.d["l"] is t[0], o.self is o, x * o.k

    r = C(f)(o, x0())
    return r, r[0][0] is r[0][1] is o.d["l"], o.d["new"] is r[0], o.k, sorted(o.d)


@prog
def list_in_tuple_mut(C):
    t = ([1], {"a": 1})

    def f(x):
        t[0].append(2)
        t[1]["b"] = t[0]
        return x * len(t[0]), t[1]["b"] is t[0]

    return C(f)(x0()), t


@prog
def inplace_global_tensor(C):
    global GT
    GT = weft.zeros(4)

    def f(x):
        global GT
        GT += x
        GT = GT * 2
        GT[0] = 5
        return GT.sum()

    f = C(f)
    return [f(x0()) for _ in range(3)], GT


@prog
def kwargs_identity(C):
    def h(**k):
        k["z"] = 1
        return k

    def f(x, d):
        r = h(**d)
        return x * 2, r, d, r is d

    return C(f)(x0(), {"a": 1})


@prog
def nan_identity(C):
    nan = float("nan")

    def f(x):
        return (
            x * 2,
            nan in [nan],
            [nan] == [nan],
            {nan: 1}.get(nan),
            nan == nan,
            (nan,) == (nan,),
            [nan].count(nan),
            [nan].index(nan),
        )

    return C(f)(x0())


@prog
def is_comparisons(C):
    a = 1000
    l = []

    def f(x, y, l2):
        b = 1000
        return x * 2, x is y, x is x, l is l2, l is [], None is None, (x is not None), () is (), type(x) is type(y), f is f

    f2 = C(f)
    x = x0()
    return f2(x, x, l), f2(x, x0(), []), f2(x, x, [])


@prog
def copies_of_leaves_written_in_place(C):
    def cast(x):
        y = x.to(weft.bfloat16)
        y.sub_(1)
        return y

    def compact(x):
        y = x.t().contiguous()
        y.sub_(1)
        return y

    def detached(x):
        y = x.detach()
        y.sub_(1)
        return y, x

    def refused(x):
        try:
            x.view(-1).add_(1)
        except RuntimeError as e:
            return x, str(e)
        return x * 1

    leaf = lambda: weft.ones(2, 3).requires_grad_()
    makes = [leaf, lambda: leaf() * 2, lambda: weft.ones(2, 3), leaf]
    return [[C(f)(make()) for make in makes] for f in (cast, compact, detached, refused)]
