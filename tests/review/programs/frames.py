"""What a frame can see of itself: locals, callers, warnings, tracing; breaks in the middle of things; threads."""

import sys
import threading
import warnings
import weakref

import weft
from tests.review.harness import prog, x0


@prog
def locals_after_break(C):
    def f(x):
        a = 1
        y = x + a
        print("b")
        return sorted(locals()), y

    return C(f)(x0())


@prog
def eval_after_break(C):
    def f(x):
        a = 3
        print("b")
        return x * eval("a")

    return C(f)(x0())


@prog
def warn_stacklevel(C):

    def g(x):
        y = x + 1
        print("b")
        warnings.warn("hey", stacklevel=2)
        return y

    g = C(g)
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        g(x0())
    import linecache

    return [linecache.getline(q.filename, q.lineno).strip() for q in w]


@prog
def frame_caller(C):
    def f(x):
        y = x + 1
        print("b")
        fr = sys._getframe(1)
        return y, fr.f_code.co_name

    return C(f)(x0())


@prog
def f_locals_frame(C):
    def f(x):
        a = 5
        print("b")
        return x * sys._getframe().f_locals["a"]

    return C(f)(x0())


@prog
def settrace_inside(C):
    f = C(lambda x: x * 2 + 1)
    ev = []
    f(x0())

    def tr(fr, e, a):
        if fr.f_code.co_filename == __file__:
            ev.append((e, fr.f_code.co_name))
        return tr

    sys.settrace(tr)
    try:
        r = f(x0())
    finally:
        sys.settrace(None)
    return r


@prog
def settrace_during_compile(C):
    def f(x):
        y = x * 2
        print("a")
        return y + 1

    f = C(f)

    def tr(fr, e, a):
        return tr

    sys.settrace(tr)
    try:
        r = f(x0()), f(x0())
    finally:
        sys.settrace(None)
    return r


@prog
def threads_same_fn(C):
    f = C(lambda x, k: (x * k).sum() + k)
    out = {}

    def work(i):
        r = []
        for j in range(30):
            r.append(float(f(weft.ones(i % 3 + 1), j % 3)))
        out[i] = r

    ts = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    return sorted(out.items())


@prog
def unbound_across_break(C):
    def f(x, k):
        if k:
            v = 5
        print("b")
        try:
            return x * v
        except UnboundLocalError as e:
            return str(e)

    f = C(f)
    return f(x0(), 1), f(x0(), 0), f(x0(), 1)


@prog
def break_in_expr_stack(C):
    def g(*a, **k):
        print("g", len(a))
        return len(a)

    g = weft.compiler.disable(g) if C(len) is not len else g

    def f(x, d):
        return [
            x + g(1),
            {"a": x * g(1, 2), **d},
            (g(), *[g(i) for i in range(2)]),
            f"{g(1)}{g(1, 2):>3}",
            x[g(1) : g(1, 2, 3)],
            g(1) < g(1, 2) < g(1, 2, 3),
            (lambda q: q + g(1))(1),
            x if g() else -x,
            max(g(1), key := g(1, 2)),
            not g(),
        ]

    return C(f)(x0(), {"z": 1})


@prog
def nested_loops_break(C):
    def f(x):
        log = []
        for i in range(3):
            for j in range(3):
                if j == 2:
                    continue
                print(i, j)
                if i == 1 and j == 1:
                    break
                x = x + i * j
            else:
                log.append(("else", i))
                continue
            log.append(("broke", i))
            while True:
                print("w")
                if len(log) > 1:
                    break
                log.append("w")
        return x, log

    return C(f)(x0())


@prog
def locals_in_nested_loops(C):
    def count(n):
        for i in range(n):
            yield i

    def f(x, s):
        out = []
        for i in count(3):
            for j in enumerate(s):
                out.append(sorted(locals()))
        return x + 1, out

    f = C(f)
    return f(x0(), "ab"), f(x0(), "abc")


@prog
def break_below_many_values(C):
    class V:
        def __str__(self):
            return "text"

        def __index__(self):
            return 2

    def f(x):
        v, w = V(), x + 1
        w = w * 2
        out = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, v, v, x, w, x, w, x, w, "%s" % v, x[v], w[v], x + w]
        x, w = w, x
        return out[18:], x, w

    f = C(f)
    return f(x0()), f(x0() + 1)


@prog
def objects_end_where_python_ends_them(C):
    log = []

    class A:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(("del", self.n))

    class B:
        pass

    def made(x, n):
        a = A(n)
        b = a
        del a
        log.append("held")
        b = None
        log.append("dropped")
        held = [A(n + 10), b]
        held.clear()
        log.append("cleared")
        return x + n

    def seen(x, keep):
        o = B()
        r = weakref.ref(o, lambda r: log.append("gone"))
        held = r() if keep else None
        del o
        return x + 1, r() is None, held is None, len(log)

    f, g = C(made), C(seen)
    return [f(x0(), 1), f(x0(), 1), f(x0(), 2)], [g(x0(), keep) for keep in (True, False, True)], log
