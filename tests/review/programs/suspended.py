"""Generators, contexts and exceptions, mixed with breaks."""

import contextlib
import sys
import warnings

import weft
from tests.review.harness import brk, prog, times


def x0():
    return weft.arange(3.0)


@weft.compiler.disable
def opaque(v=None):
    return v


@prog
def gen_finally_order(C):
    log = []

    def g(x):
        try:
            yield x + 1
            yield x + 2
        finally:
            log.append("fin")

    def f(x):
        it = g(x)
        a = next(it)
        log.append("a")
        brk()
        log.append("b")
        it.close()
        log.append("c")
        return a

    r = times(C, f, (x0(),), (x0(),))
    return r, log


@prog
def gen_send(C):
    def g():
        tot = 0
        while True:
            v = yield tot
            if v is None:
                return
            tot = tot + v

    def f(x):
        it = g()
        next(it)
        a = it.send(x)
        brk()
        b = it.send(x * 2)
        return a, b

    return times(C, f, (x0(),), (x0(),))


@prog
def gen_expr_late(C):
    def f(x):
        k = 2
        ge = (x * k for _ in range(2))
        k = 5
        return list(ge)

    return times(C, f, (x0(),), (x0(),))


@prog
def gen_exc(C):
    def g(x):
        try:
            yield x
        except ValueError as e:
            yield x * int(str(e))

    def f(x):
        it = g(x)
        next(it)
        return it.throw(ValueError("3"))

    return times(C, f, (x0(),), (x0(),))


@prog
def gen_return_value(C):
    def g(x):
        yield x
        return x * 9

    def f(x):
        def h():
            r = yield from g(x)
            yield r

        return list(h())

    return times(C, f, (x0(),))


@prog
def gen_zip_break(C):
    def g(n):
        for i in range(n):
            yield i

    def f(x):
        out = []
        for a, b in zip(g(3), g(5)):
            if a == 1:
                brk()
            out.append(x * a + b)
        return out

    return times(C, f, (x0(),), (x0(),))


@prog
def stopiteration_in_gen(C):
    def g():
        yield 1
        raise StopIteration

    def f(x):
        try:
            return list(g())
        except RuntimeError as e:
            return str(e), type(e.__cause__).__name__

    return times(C, f, (x0(),))


@prog
def cm_exception_suppressed(C):
    log = []

    class CM:
        def __enter__(s):
            log.append("in")
            return s

        def __exit__(s, t, v, tb):
            log.append((t.__name__ if t else None, str(v)))
            return t is ValueError

    def f(x, n):
        with CM():
            x = x + 1
            brk()
            if n == 1:
                raise ValueError("one")
            if n == 2:
                raise KeyError("two")
            x = x * 2
        return x

    r = times(C, f, (x0(), 0), (x0(), 1), (x0(), 2), (x0(), 1))
    return r, log


@prog
def exitstack(C):
    log = []

    @contextlib.contextmanager
    def cm(n):
        log.append(("in", n))
        try:
            yield n
        finally:
            log.append(("out", n))

    def f(x):
        with contextlib.ExitStack() as st:
            a = [st.enter_context(cm(i)) for i in range(3)]
            st.callback(log.append, "cb")
            x = x * sum(a)
        return x

    r = times(C, f, (x0(),), (x0(),))
    return r, log


@prog
def exitstack_break(C):
    log = []

    @contextlib.contextmanager
    def cm(n):
        log.append(("in", n))
        try:
            yield n
        except ValueError:
            log.append("caught")
        finally:
            log.append(("out", n))

    def f(x, k):
        with contextlib.ExitStack() as st:
            for i in range(2):
                st.enter_context(cm(i))
                brk()
            if k:
                raise ValueError
            x = x + 1
        return x * 3

    r = times(C, f, (x0(), 0), (x0(), 1), (x0(), 1))
    return r, log


@prog
def nested_try_finally_return(C):
    log = []

    def f(x, n):
        for i in range(3):
            try:
                if i == n:
                    return x + i
                if i == 1:
                    continue
            finally:
                log.append(i)
                if n == 9 and i == 2:
                    break
        else:
            log.append("else")
        return x - 1

    r = times(C, f, *[(x0(), k) for k in (0, 1, 2, 9, 5)])
    return r, log


@prog
def finally_override(C):
    def f(x, n):
        try:
            brk()
            if n:
                raise ValueError("v")
            return x
        finally:
            if n == 2:
                return x * 100

    return times(C, f, (x0(), 0), (x0(), 1), (x0(), 2))


@prog
def exc_chain(C):
    def f(x):
        try:
            try:
                raise ValueError("a")
            except ValueError as e:
                raise KeyError("b") from e
        except KeyError as k:
            return str(k.__cause__), k.__context__ is k.__cause__, k.__suppress_context__, x + 1

    return times(C, f, (x0(),))


@prog
def exc_chain_break(C):
    def f(x):
        try:
            try:
                raise ValueError("a")
            except ValueError as e:
                brk()
                raise KeyError("b")
        except KeyError as k:
            brk()
            return str(k.__cause__), str(k.__context__), x + 1

    return times(C, f, (x0(),), (x0(),))


@prog
def exc_var_unbound(C):
    def f(x):
        e = 5
        try:
            raise ValueError
        except ValueError as e:
            pass
        try:
            return e
        except UnboundLocalError as u:
            return str(u)

    return times(C, f, (x0(),))


@prog
def raise_custom_attrs(C):
    class E(Exception):
        def __init__(s, a, *, k=3):
            super().__init__(a)
            s.k = k
            s.t = None

    def f(x):
        try:
            raise E(1, k=4)
        except E as e:
            e.t = x
            return e.args, e.k, e.t + 1

    return times(C, f, (x0(),))


@prog
def exc_out(C):
    class E(Exception):
        pass

    hold = []

    def f(x):
        hold.append(x + 1)
        e = E("m")
        e.extra = [1]
        raise e

    c = C(f)
    out = []
    for _ in range(3):
        try:
            c(x0())
        except E as e:
            out.append((e.args, e.extra))
    return out, hold


@prog
def context_grad(C):
    def f(x):
        with weft.no_grad():
            a = x * 2
        with weft.enable_grad():
            b = x * 3
        with weft.set_grad_enabled(False):
            c = x * 4
            weft.set_grad_enabled(True)
            d = x * 5
        return a, b, c, d, weft.is_grad_enabled()

    return times(C, f, (x0().requires_grad_(),))


@prog
def grad_mode_break(C):
    def f(x):
        with weft.no_grad():
            a = x * 2
            brk()
            b = x * 3
            with weft.enable_grad():
                c = x * 4
                brk()
                d = x * 5
        return a, b, c, d, x * 6

    return times(C, f, (x0().requires_grad_(),), (x0().requires_grad_(),))


@prog
def loop_break_state(C):
    log = []

    def f(x, n):
        for i in range(n):
            if i % 2:
                brk()
            else:
                try:
                    if i == 2:
                        raise ValueError(i)
                except ValueError as e:
                    log.append(e.args)
                    brk()
            x = x + i
            log.append(i)
        return x

    r = times(C, f, (x0(), 3), (x0(), 5), (x0(), 0))
    return r, log


@prog
def opaque_types(C):
    def f(x, v):
        w = opaque(v)
        return x * 2 if w else x * 3, type(w).__name__

    return times(C, f, *[(x0(), v) for v in (1, 0, [], [1], None, "s", x0()[:1])])


@prog
def while_opaque(C):
    def f(x):
        it = opaque(iter([1, 2, 3]))
        s = 0
        while (v := next(it, None)) is not None:
            s += v
            x = x + v
        return x, s

    return times(C, f, (x0(),), (x0(),))


@prog
def sys_exc(C):
    def f(x):
        try:
            1 / 0
        except ZeroDivisionError:
            t = sys.exc_info()[0].__name__
        return t, sys.exc_info(), x

    return times(C, f, (x0(),))


@prog
def warnings(C):
    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            warnings.warn("hey", UserWarning)
        return [str(i.message) for i in w], x

    return times(C, f, (x0(),), (x0(),))
