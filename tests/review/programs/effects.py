"""Side effects: dicts, lists, objects, classes, cells, globals and memory that is written."""

import collections
import functools

import weft
from tests.review.harness import brk, prog, times
from weft import nn


def x0():
    return weft.arange(3.0)


@weft.compiler.disable
def opaque(v=None):
    return v


@prog
def side_dict_order(C):
    d = {"a": 1, "b": 2}

    def f(x):
        d["c"] = x
        del d["a"]
        d["a"] = x * 2
        d.pop("b", None)
        d.setdefault("z", []).append(1)
        return x + len(d)

    r = times(C, f, (x0(),), (x0(),))
    return r, d


@prog
def side_list_alias(C):
    l = [1]
    m = l

    def f(x):
        l.append(x)
        m.insert(0, 2)
        l[1:2] = [7, 8]
        l.reverse()
        return x * len(m)

    r = times(C, f, (x0(),), (x0(),))
    return r, l, l is m


@prog
def side_nested_new(C):
    class O:
        pass

    o = O()
    o.l = []

    def f(x):
        n = {"x": x}
        n["self"] = n["x"]
        o.l.append(n)
        o.last = n
        o.same = o.l[-1] is o.last
        return x

    r = times(C, f, (x0(),))
    return r, o.same, o.l[-1] is o.last, len(o.l)


@prog
def side_cyclic(C):
    class N:
        pass

    root = N()

    def f(x):
        a, b = N(), N()
        a.n = b
        b.n = a
        root.a = a
        a.v = x + 1
        return x

    r = times(C, f, (x0(),))
    return r, root.a.n.n is root.a, root.a.v


@prog
def closure_cells(C):
    def make():
        n = 0
        acc = []

        def inc(x):
            nonlocal n
            n += 1
            acc.append(n)
            return x * n

        def get():
            return n, acc

        return inc, get

    inc, get = make()
    c = C(inc)
    return [c(x0()) for _ in range(4)], get()


@prog
def closure_break(C):
    def make():
        n = 0

        def inc(x):
            nonlocal n
            n += 1
            brk()
            n *= 2
            return x * n

        return inc, lambda: n

    inc, get = make()
    c = C(inc)
    return [c(x0()) for _ in range(4)], get()


G = 0


@prog
def globals(C):
    global G
    G = 0

    def f(x):
        global G
        G += 1
        y = x * G
        G += 1
        return y

    r = times(C, f, (x0(),), (x0(),), (x0(),))
    return r, G


@prog
def class_attr(C):
    class A:
        n = 0
        l = []

    class B(A):
        pass

    def f(x):
        B.n += 1
        B.l.append(B.n)
        A.n += 10
        return x * B.n, "n" in B.__dict__

    r = times(C, f, (x0(),), (x0(),))
    return r, A.n, B.n, A.l


@prog
def property_setter(C):
    class A:
        def __init__(s):
            s._v = 1
            s.log = []

        @property
        def v(s):
            s.log.append("get")
            return s._v

        @v.setter
        def v(s, n):
            s.log.append("set")
            s._v = n

    a = A()

    def f(x):
        a.v += 2
        return x * a.v

    r = times(C, f, (x0(),), (x0(),))
    return r, a.log


@prog
def getattr_fallback(C):
    class A:
        def __init__(s):
            s.d = {}

        def __getattr__(s, n):
            if n.startswith("q"):
                s.d[n] = s.d.get(n, 0) + 1
                return s.d[n]
            raise AttributeError(n)

    a = A()

    def f(x):
        return x * a.q1 + a.q2, hasattr(a, "zz"), getattr(a, "q1")

    r = times(C, f, (x0(),), (x0(),))
    return r, a.d


@prog
def slots_delete(C):
    class A:
        __slots__ = ("a", "b")

    a = A()
    a.a = 1

    def f(x):
        if hasattr(a, "a"):
            del a.a
            a.b = x
        else:
            a.a = 2
        return x + 1, hasattr(a, "b")

    return times(C, f, (x0(),), (x0(),), (x0(),))


@prog
def defaultdict(C):
    d = collections.defaultdict(list)

    def f(x, k):
        d[k].append(x.sum())
        return x + len(d[k]), list(d)

    r = times(C, f, (x0(), "a"), (x0(), "b"), (x0(), "a"))
    return r, dict(d)


@prog
def counter(C):
    c0 = collections.Counter()

    def f(x, s):
        c0.update(s)
        return x * c0["a"], c0.most_common(1)

    r = times(C, f, (x0(), "aab"), (x0(), "b"), (x0(), "bbb"))
    return r, c0


@prog
def deque(C):
    q = collections.deque(maxlen=2)

    def f(x):
        q.append(x)
        q.rotate(1)
        return sum(q), len(q)

    r = times(C, f, (x0(),), (x0() + 1,), (x0() + 2,))
    return r, list(q)


@prog
def ordereddict(C):
    d = collections.OrderedDict(a=1, b=2, c=3)

    def f(x):
        d.move_to_end("a")
        k, v = d.popitem(last=False)
        d[k + "x"] = v
        return x * v

    r = times(C, f, (x0(),), (x0(),))
    return r, list(d.items())


@prog
def mutate_arg(C):
    def f(x, l, d):
        l.append(x + 1)
        d["n"] = d.get("n", 0) + 1
        l[0] = None
        return x * d["n"]

    l, d = [1], {}
    r = times(C, f, (x0(), l, d), (x0(), l, d))
    return r, l, d


@prog
def iter_mutated(C):
    l = [1, 2, 3]

    def f(x):
        it = iter(l)
        next(it)
        l.append(4)
        r = list(it)
        l.pop()
        return r, x

    return times(C, f, (x0(),), (x0(),))


@prog
def dict_changed_iter(C):
    def f(x):
        d = {1: 1, 2: 2}
        try:
            for k in d:
                d[k + 10] = 1
        except RuntimeError as e:
            return str(e), x + 1

    return times(C, f, (x0(),))


@prog
def tensor_attr(C):
    t = x0()
    t.tag = [1]

    def f(x):
        t.tag.append(2)
        t.other = x
        y = x + 1
        y.mark = "m"
        return t.other + 1, y.mark, y

    r = times(C, f, (x0(),))
    return r, t.tag, t.other, hasattr(r[0][2], "mark")


@prog
def module_buffers(C):
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.register_buffer("n", weft.zeros(()))
            s.calls = 0
            s.hist = []

        def forward(s, x):
            s.calls += 1
            s.n += 1
            s.hist.append(s.calls)
            s.last = x
            return x * s.n * s.calls

    m = M()
    c = C(m)
    r = [c(x0()) for _ in range(3)]
    return r, m.calls, m.n, m.hist, m.last


@prog
def inplace_alias(C):
    def f(x):
        y = x[1:]
        z = x.view(-1)
        y.add_(1)
        z[0] = 9
        w = y * 2
        x.mul_(2)
        return x, y, z, w

    return times(C, f, (x0(),), (x0(),))


@prog
def inplace_alias_break(C):
    def f(x):
        y = x[1:]
        y.add_(1)
        brk()
        x.mul_(2)
        z = y + 1
        brk()
        y.zero_()
        return x, y, z

    return times(C, f, (x0(),), (x0(),))


@prog
def same_arg_twice(C):
    def f(a, b):
        a.add_(1)
        return a + b, a is b

    t = x0()
    return times(C, f, (t, t), (x0(), x0()), (t, t[:]))


@prog
def overlap_args(C):
    def f(a, b):
        a.mul_(2)
        return b + 1

    t = weft.arange(4.0)
    return times(C, f, (t[:3], t[1:]), (x0(), x0()), (t, t)), t


@prog
def out_arg(C):
    def f(x, o):
        weft.add(x, 1, out=o)
        return o * 2

    o = x0()
    r = times(C, f, (x0(), o), (x0(), o))
    return r, o


@prog
def hooks(C):
    log = []
    m = nn.Linear(3, 3, bias=False)
    nn.init.eye_(m.weight)
    m.register_forward_hook(lambda mod, i, o: (log.append("f"), o * 2)[1])
    m.register_forward_pre_hook(lambda mod, i: (i[0] + 1,))
    c = C(m)
    r = [c(x0()) for _ in range(2)]
    h = m.register_forward_hook(lambda mod, i, o: o + 100)
    r.append(c(x0()))
    h.remove()
    r.append(c(x0()))
    return [t.detach() for t in r], log


@prog
def memo_attr(C):
    class M:
        @functools.cached_property
        def w(s):
            return weft.ones(3) * 2

    m = M()

    def f(x):
        return x * m.w

    r = times(C, f, (x0(),), (x0(),))
    return r, "w" in m.__dict__
