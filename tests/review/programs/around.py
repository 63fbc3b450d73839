"""Threads, weak references, finalizers, limits, patched libraries and the environment."""

import gc
import os
import sys
import threading
import time
import weakref

import weft
from tests.review.harness import prog, told, x0

F = weft.nn.functional


@prog
def tracing_sees_the_same_lines(C):
    def f(x):
        y = x + 1
        return y * 2

    def lines(c):
        seen = []

        def local(frame, event, arg):
            seen.append((event, frame.f_lineno - f.__code__.co_firstlineno))
            return local

        def trace(frame, event, arg):
            if frame.f_code.co_name == "f":
                return local(frame, event, arg)

        sys.settrace(trace)
        try:
            c(x0())
        finally:
            sys.settrace(None)
        return seen

    c = C(f)
    r = [c(x0())]
    return r, lines(c), c(x0())


@prog
def profile_counts_calls(C):
    def g(x):
        return x + 1

    def f(x):
        return g(g(x))

    def names(c):
        seen = []

        def profile(frame, event, arg):
            if event == "call" and frame.f_code.co_name in ("f", "g"):
                seen.append(frame.f_code.co_name)

        sys.setprofile(profile)
        try:
            c(x0())
        finally:
            sys.setprofile(None)
        return seen

    c = C(f)
    c(x0())
    return names(c), names(f)


@prog
def threads_have_modes_of_their_own(C):
    c = C(lambda x: (x * 2, weft.is_grad_enabled()))
    out = []

    def work():
        out.append(c(x0().requires_grad_()))

    with weft.no_grad():
        t = threading.Thread(target=work)
        t.start()
        t.join()
        out.append(c(x0().requires_grad_()))
    return out


@prog
def thread_locals_and_contextvars(C):
    import contextvars

    local = threading.local()
    var = contextvars.ContextVar("v", default=1)

    def f(x):
        n = getattr(local, "n", 5)
        local.n = n + 1
        token = var.set(var.get() + 1)
        y = x * n * var.get()
        var.reset(token)
        return y, n, var.get()

    c = C(f)
    r = [c(x0()), c(x0())]
    t = threading.Thread(target=lambda: r.append(c(x0())))
    t.start()
    t.join()
    r.append(contextvars.copy_context().run(c, x0()))
    var.set(10)
    r.append(c(x0()))
    return r


@prog
def weak_references_die_on_time(C):
    log = []

    class A:
        pass

    def f(x):
        o = A()
        w = weakref.ref(o, lambda _: log.append("dead"))
        alive = w() is o
        del o
        log.append("after del")
        return x + alive, w() is None

    c = C(f)
    return c(x0()), c(x0()), log


@prog
def finalizers_run_where_python_runs_them(C):
    log = []

    class A:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    def f(x):
        a = A(1)
        b = A(2)
        a = A(3)
        log.append("mid")
        del b
        log.append("end")
        return x + 1

    c = C(f)
    c(x0())
    c(x0())
    return log


@prog
def finalizers_in_loops_and_handlers(C):
    log = []

    class A:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    def f(x):
        for i in range(3):
            o = A(i)
        try:
            h = A("h")
            raise ValueError(A("arg"))
        except ValueError as e:
            log.append("handler")
        log.append("after")
        A("dropped")
        log.append("end")
        return x

    c = C(f)
    c(x0())
    c(x0())
    gc.collect()
    return log


@prog
def finalizers_beside_a_break(C):
    log = []

    class A:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(("dead", self.n))

    def f(x):
        a = A(1)
        b = [A(2)]
        log.append("before")
        print("break")
        log.append("behind")
        b = None
        log.append("b gone")
        y = x + 1
        print("again")
        log.append("last")
        return y

    c = C(f)
    c(x0())
    c(x0())
    return log


@prog
def cycles_are_collected(C):
    log = []

    class A:
        def __del__(self):
            log.append("del")

    def f(x):
        o = A()
        o.me = o
        del o
        some = bool(gc.collect())
        log.append("collected")
        return x + some

    c = C(f)
    gc.collect()
    return c(x0()), c(x0()), log


@prog
def recursion_limits(C):
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    def f(x, n):
        try:
            return x + down(n)
        except RecursionError:
            return x - 1

    c = C(f)
    return c(x0(), 10), c(x0(), 50), c(x0(), 100000)


@prog
def autocast_inside_and_outside(C):
    a = weft.ones(2, 2)

    def f(x):
        with weft.autocast("cpu", dtype=weft.bfloat16):
            y = x @ a
            with weft.autocast("cpu", enabled=False):
                z = x @ a
        return y.dtype, z.dtype, (x @ a).dtype, weft.is_autocast_enabled("cpu")

    c = C(f)
    r = [c(a)]
    with weft.autocast("cpu", dtype=weft.float16):
        r.append(c(a))
    with weft.autocast("cpu", dtype=weft.bfloat16):
        r.append(c(a))
    r.append(c(a))
    return r


@prog
def deterministic_and_threads_flags(C):
    def f(x):
        return x + weft.are_deterministic_algorithms_enabled(), weft.get_num_threads()

    c = C(f)
    threads = weft.get_num_threads()
    r = [c(x0())[0]]
    weft.use_deterministic_algorithms(True)
    weft.set_num_threads(1)
    try:
        r.append(c(x0()))
    finally:
        weft.use_deterministic_algorithms(False)
        weft.set_num_threads(threads)
    r.append(c(x0())[0])
    return r


@prog
def library_function_replaced_between(C):
    def f(x):
        return F.relu(x - 2), F.gelu(x) * 0, weft.sigmoid(x) * 0

    c = C(f)
    r = [c(x0())]
    old = F.relu
    F.relu = lambda v: v * 100
    try:
        r.append(c(x0()))
    finally:
        F.relu = old
    r.append(c(x0()))
    return r


@prog
def tensor_method_replaced_between(C):
    def f(x):
        y = x.clone()
        y += 2
        y[0] = 50
        if x.sum() > 100 or not x[1:2]:
            return 0
        return (
            x.relu(), x + 1, 1 + x, x.sum(), x.double().dtype, x[0], -x, len(x), [*x[:2]], y, x.size(), x.shape, x.view(2, 2), x[2].item(),
            3 in x,
        )  # fmt: skip

    c = C(f)
    r = [c(x0())]
    for name, new in (
        ("relu", lambda s: s * 7), ("__add__", lambda s, o: "added"), ("sum", lambda s: 3), ("double", lambda s: s), ("__radd__", lambda s, o: 5),
        ("__getitem__", lambda s, k: k), ("__neg__", lambda s: "n"), ("__len__", lambda s: 9), ("__iter__", lambda s: iter([1])),
        ("__iadd__", lambda s, o: 8), ("size", lambda s: 4), ("shape", 6), ("__bool__", lambda s: True), ("__setitem__", lambda s, k, v: None),
        ("view", lambda s, *a: a), ("item", lambda s: 1.5), ("__contains__", lambda s, o: True),
    ):  # fmt: skip
        old = weft.Tensor.__dict__.get(name)
        setattr(weft.Tensor, name, new)
        try:
            r.append((name, told(c, x0())))
        finally:
            if old is None:
                delattr(weft.Tensor, name)
            else:
                setattr(weft.Tensor, name, old)
        r.append(c(x0()))
    return r


@prog
def layer_internals_replaced_between(C):
    m = weft.nn.Sequential(weft.nn.Linear(4, 4, bias=False), weft.nn.ReLU())
    with weft.no_grad():
        m[0].weight.copy_(weft.eye(4))
    c = C(m)
    r = [c(x0())]
    m[1].forward = lambda x: x + 1
    r.append(c(x0()))
    del m[1].forward
    m[0] = weft.nn.Identity()
    r.append(c(x0()))
    m.add_module("last", weft.nn.Hardtanh())
    r.append(c(x0()))
    m[1].__class__ = weft.nn.Sigmoid
    r.append(c(x0()))
    h = m[0].register_forward_pre_hook(lambda mod, a: (a[0] * 2,))
    r.append(c(x0()))
    h.remove()
    m[1].register_forward_hook(lambda mod, a, o: o * 0)
    r.append(c(x0()))
    old = weft.nn.Hardtanh.forward
    weft.nn.Hardtanh.forward = lambda s, x: x - 5
    try:
        r.append(c(x0()))
    finally:
        weft.nn.Hardtanh.forward = old
    return r


@prog
def parameters_replaced_and_shared(C):
    m = weft.nn.Linear(2, 2, bias=True)
    n = weft.nn.Linear(2, 2, bias=True)
    with weft.no_grad():
        for p in (*m.parameters(), *n.parameters()):
            p.fill_(0.5)

    def f(x):
        y = n(m(x))
        y.sum().backward()
        return y.detach()

    c = C(f)
    r = [c(weft.ones(1, 2)), m.weight.grad.clone()]
    n.weight = m.weight
    r += [c(weft.ones(1, 2)), m.weight.grad.clone(), n.weight.grad is m.weight.grad]
    m.bias = None
    r += [c(weft.ones(1, 2)), n.bias.grad.clone()]
    m.weight = weft.nn.Parameter(weft.ones(2, 2) * 2)
    m.weight.grad = None
    r += [c(weft.ones(1, 2)), m.weight.grad, n.weight.grad]
    m.requires_grad_(False)
    m.weight.grad = None
    r += [c(weft.ones(1, 2)), m.weight.grad]
    return r


@prog
def system_state(C):
    def f(x):
        return (
            x + len(sys.argv), sys.getrecursionlimit() > 0, sys.exc_info()[0], sys.getsizeof([]) > 0, sys.intern("a") is sys.intern("a"),
            sys.flags.optimize, sys.byteorder, "os" in sys.modules,
        )  # fmt: skip

    c = C(f)
    old = sys.argv
    try:
        sys.argv = ["a"]
        r = [c(x0())]
        sys.argv = ["a", "b", "c"]
        r.append(c(x0()))
    finally:
        sys.argv = old
    return r


@prog
def environment_and_clock(C):
    def f(x):
        return x * int(os.environ.get("WEFT_TEST_N", "2")), "WEFT_TEST_N" in os.environ, os.getcwd() == os.path.abspath("."), time.time() > 0

    c = C(f)
    os.environ.pop("WEFT_TEST_N", None)
    r = [c(x0())]
    os.environ["WEFT_TEST_N"] = "5"
    r.append(c(x0()))
    os.environ["WEFT_TEST_N"] = "6"
    r.append(c(x0()))
    del os.environ["WEFT_TEST_N"]
    r.append(c(x0()))
    return r
