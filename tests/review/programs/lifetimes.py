"""When objects end: finalizers, weak references, generators; and that a compiled function keeps nothing alive."""

import contextlib
import gc
import weakref

import weft
from tests.review.harness import brk, prog, times, x0


@weft.compiler.disable
def opaque(v=None):
    return v


class D:
    def __init__(self, log, n):
        self.log, self.n = log, n

    def __del__(self):
        self.log.append(("del", self.n))


@prog
def del_after_break(C):
    log = []

    def f(x):
        d = D(log, 1)
        brk()
        log.append("end")
        return x + 1

    r = times(C, f, (x0(),), (x0(),), (x0(),))
    return r, log


@prog
def del_made_opaque(C):
    log = []

    def f(x):
        d = opaque(D)(log, 1)
        y = x + 1
        brk()
        log.append("end")
        return y

    r = times(C, f, (x0(),), (x0(),), (x0(),))
    return r, log


@prog
def del_argument(C):
    log = []

    def f(x, d):
        y = x + 1
        brk()
        log.append("end")
        return y

    c = C(f)
    r = [c(x0(), D(log, i)) for i in range(3)]
    return r, log


@prog
def del_argument_nobreak(C):
    log = []

    def f(x, d):
        log.append("end")
        return x + 1

    c = C(f)
    r = [c(x0(), D(log, i)) for i in range(3)]
    return r, log


@prog
def weak_local_after_break(C):
    class O:
        pass

    def f(x):
        o = O()
        r = weakref.ref(o)
        brk()
        return x + 1, r() is None

    return times(C, f, (x0(),), (x0(),))


@prog
def weak_local_after_break2(C):
    class O:
        pass

    def f(x, o):
        r = weakref.ref(o)
        brk()
        return x + 1, r() is None

    c = C(f)
    return [c(x0(), O()) for _ in range(3)]


@prog
def rebinding_del(C):
    log = []

    def f(x):
        d = opaque(D)(log, 1)
        log.append("a")
        d = opaque(D)(log, 2)
        log.append("b")
        del d
        log.append("c")
        return x + len(log)

    return times(C, f, (x0(),), (x0(),)), log


@prog
def del_inlined(C):
    log = []

    def g(x):
        d = opaque(D)(log, 1)
        log.append("in")
        return x + 1

    def f(x):
        y = g(x)
        log.append("out")
        return y * 2

    return times(C, f, (x0(),), (x0(),)), log


@prog
def del_inlined_traced(C):
    log = []

    def g(x):
        d = D(log, 1)
        log.append("in")
        return x + 1

    def f(x):
        y = g(x)
        log.append("out")
        return y * 2

    return times(C, f, (x0(),), (x0(),)), log


@prog
def del_attr_replaced(C):
    log = []

    class H:
        pass

    h = H()
    h.d = D(log, 0)

    def f(x):
        h.d = None
        log.append("after")
        return x + 1

    c = C(f)
    out = []
    for i in range(3):
        h.d = D(log, i)
        out.append(c(x0()))
    return out, log


@prog
def del_list_item_replaced(C):
    log = []
    l = [D(log, 0)]

    def f(x):
        l[0] = None
        log.append("after")
        l.append(1)
        return x + len(l)

    c = C(f)
    out = []
    for i in range(3):
        l[:] = [D(log, i)]
        out.append(c(x0()))
    return out, log


@prog
def del_dict_pop(C):
    log = []
    d = {}

    def f(x):
        d.pop("k")
        log.append("after")
        return x + 1

    c = C(f)
    out = []
    for i in range(3):
        d["k"] = D(log, i)
        out.append(c(x0()))
    return out, log


@prog
def del_dict_clear(C):
    log = []
    d = {}

    def f(x):
        d.clear()
        log.append("after")
        return x + 1

    c = C(f)
    out = []
    for i in range(3):
        d["k"] = D(log, i)
        d["j"] = D(log, i + 10)
        out.append(c(x0()))
    return out, log


G = None


@prog
def del_global_replaced(C):
    log = []

    def f(x):
        global G
        G = 3
        log.append("after")
        return x + 1

    global G
    c = C(f)
    out = []
    for i in range(3):
        G = D(log, i)
        out.append(c(x0()))
    return out, log


@prog
def del_cell_replaced(C):
    log = []
    cell = None

    def f(x):
        nonlocal cell
        cell = 3
        log.append("after")
        return x + 1

    c = C(f)
    out = []
    for i in range(3):
        cell = D(log, i)
        out.append(c(x0()))
    return out, log


@prog
def del_delattr(C):
    log = []

    class H:
        pass

    h = H()

    def f(x):
        del h.d
        log.append("after")
        return x + 1

    c = C(f)
    out = []
    for i in range(3):
        h.d = D(log, i)
        out.append(c(x0()))
    return out, log


@prog
def del_tensor_attr(C):
    log = []
    t = x0()

    def f(x):
        t.d = 1
        log.append("after")
        return x + 1

    c = C(f)
    out = []
    for i in range(3):
        t.d = D(log, i)
        out.append(c(x0()))
    return out, log


@prog
def weak_callback(C):
    log = []

    class O:
        pass

    class H:
        pass

    h = H()

    def f(x):
        h.o = None
        log.append("after")
        return x + 1

    c = C(f)
    out = []
    for i in range(3):
        h.o = O()
        r = weakref.ref(h.o, lambda _: log.append("gone"))
        out.append(c(x0()))
    return out, log


@prog
def weakvaluedict(C):
    class O:
        pass

    w = weakref.WeakValueDictionary()

    def f(x, o):
        w["a"] = o
        return x * len(w)

    c = C(f)
    o = O()
    r = [c(x0(), o), c(x0(), O()), len(w)]
    del o
    gc.collect()
    return r, len(w)


@prog
def weakset_len(C):
    class O:
        pass

    w = weakref.WeakSet()
    o = O()
    w.add(o)

    def f(x):
        return x * len(w)

    c = C(f)
    r = [c(x0())]
    del o
    gc.collect()
    r.append(c(x0()))
    return r


@prog
def weak_read_dead(C):
    class O:
        pass

    o = O()
    r = weakref.ref(o)

    def f(x):
        return x * (1 if r() is None else 2)

    c = C(f)
    out = [c(x0())]
    del o
    out.append(c(x0()))
    return out


@prog
def weak_proxy(C):
    class O:
        k = 2

        def m(self):
            return self.k

    o = O()
    p = weakref.proxy(o)

    def f(x):
        try:
            return x * p.k + p.m()
        except ReferenceError as e:
            return str(e)

    c = C(f)
    out = [c(x0())]
    o.k = 5
    out.append(c(x0()))
    del o
    out.append(c(x0()))
    return out


@prog
def weakmethod(C):
    class O:
        def m(self):
            return 3

    o = O()
    p = weakref.WeakMethod(o.m)

    def f(x):
        m = p()
        return x * (m() if m else 0)

    c = C(f)
    out = [c(x0())]
    del o
    out.append(c(x0()))
    return out


@prog
def compiled_holds_nothing(C):
    class O:
        pass

    def f(x, o):
        o.k = 1
        return x + o.k

    c = C(f)
    o = O()
    r = weakref.ref(o)
    c(x0(), o)
    c(x0(), o)
    del o
    return r() is None


@prog
def holds_nothing_after_exception(C):
    class O:
        pass

    def f(x, o):
        o.k = 1
        brk()
        raise ValueError(o.k)

    c = C(f)
    o = O()
    r = weakref.ref(o)
    for _ in range(3):
        try:
            c(x0(), o)
        except ValueError:
            pass
    del o
    return r() is None


@prog
def generator_left_in_list(C):
    log = []

    def g():
        try:
            yield 1
        finally:
            log.append("closed")

    def f(x):
        l = [g()]
        next(l[0])
        brk()
        log.append("end")
        return x

    return times(C, f, (x0(),), (x0(),)), log


@prog
def generator_rebinding_loop(C):
    log = []

    def g(i):
        try:
            yield i
            yield 7
        finally:
            log.append(("closed", i))

    def f(x):
        for i in range(3):
            log.append(("before", i))
            h = g(i)
            log.append(("made", i))
            x = x + next(h)
            brk()
        log.append("end")
        return x

    return times(C, f, (x0(),), (x0(),)), log


@prog
def exitstack_dies(C):
    log = []

    def f(x):
        s = contextlib.ExitStack()
        s.callback(log.append, "cb")
        brk()
        log.append("end")
        return x

    return times(C, f, (x0(),), (x0(),)), log


@prog
def exception_keeps_frame(C):
    log = []

    def f(x):
        d = D(log, 1)
        raise ValueError("v")

    c = C(f)
    for _ in range(3):
        try:
            c(x0())
        except ValueError as e:
            log.append("caught")
        log.append("left")
    return log


@prog
def exception_var_deleted(C):
    log = []

    def f(x):
        try:
            raise ValueError(D(log, 1))
        except ValueError as e:
            log.append("in")
        log.append("out")
        return x + 1

    return times(C, f, (x0(),), (x0(),)), log
