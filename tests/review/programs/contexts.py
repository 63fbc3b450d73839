"""Context managers: which exceptions they swallow and raise, on the class and on the object."""

import contextlib
import io

from tests.review.harness import brk, prog, times, x0


@prog
def ctx_suppress(C):
    class M:
        def __init__(self, s):
            self.s = s

        def __enter__(self):
            return self

        def __exit__(self, t, v, tb):
            self.seen = (t.__name__ if t else None, str(v), tb is not None)
            return self.s

    def f(x, s):
        m = M(s)
        with m as q:
            x = x + 1
            brk()
            if s is not None:
                raise ValueError("a")
            x = x + 10
        return x, m.seen, q is m

    return times(C, f, (x0(), True), (x0(), None), (x0(), 1), (x0(), []), (x0(), "s"), (x0(), True))


@prog
def ctx_exit_raises(C):
    class M:
        def __enter__(self):
            return self

        def __exit__(self, t, v, tb):
            raise KeyError("exit")

    def f(x):
        try:
            with M():
                raise ValueError("a")
        except KeyError as e:
            return x, repr(e.__context__)

    return times(C, f, (x0(),), (x0(),))


@prog
def ctx_enter_missing(C):
    class M:
        pass

    class N:
        def __enter__(self):
            pass

    def f(x, m):
        try:
            with m:
                return x
        except Exception as e:
            return x, type(e).__name__, str(e)

    return times(C, f, (x0(), M()), (x0(), N()), (x0(), 3))


@prog
def ctx_instance_enter(C):
    class M:
        def __enter__(self):
            return 1

        def __exit__(self, *a):
            return False

    m = M()
    m.__enter__ = lambda: 5
    m.__exit__ = lambda *a: True

    def f(x):
        with m as k:
            x = x * k
        return x

    c = C(f)
    r = [c(x0())]
    M.__enter__ = lambda self: 7
    r.append(c(x0()))
    M.__exit__ = lambda *a: True
    r.append(c(x0()))
    return r


@prog
def exitstack_order(C):
    log = []

    @contextlib.contextmanager
    def cm(n):
        log.append(("in", n))
        try:
            yield n
        except ValueError as e:
            log.append(("caught", n, str(e)))
        finally:
            log.append(("out", n))

    def f(x):
        with contextlib.ExitStack() as s:
            a = s.enter_context(cm(1))
            b = s.enter_context(cm(2))
            s.callback(log.append, "cb")
            brk()
            raise ValueError(a + b)
        return x + 1

    return times(C, f, (x0(),), (x0(),)), log


@prog
def suppress_(C):
    def f(x):
        with contextlib.suppress(KeyError, IndexError):
            x = x + 1
            {}["a"]
            x = x + 100
        with contextlib.suppress(ValueError):
            x = x + [][0] if False else x * 2
        return x

    return times(C, f, (x0(),), (x0(),))


@prog
def redirect(C):
    def f(x):
        b = io.StringIO()
        with contextlib.redirect_stdout(b):
            print("hello", x.shape)
        return x + 1, b.getvalue()

    return times(C, f, (x0(),), (x0(),))


@prog
def closing_(C):
    class K:
        n = 0

        def close(self):
            self.n += 1

    def f(x):
        k = K()
        with contextlib.closing(k) as q:
            x = x + 1
        return x, k.n, q is k

    return times(C, f, (x0(),), (x0(),))


@prog
def nullcontext_(C):
    def f(x):
        with contextlib.nullcontext(3) as k:
            x = x * k
        return x

    return times(C, f, (x0(),), (x0(),))


@prog
def cm_decorator(C):
    log = []

    @contextlib.contextmanager
    def cm():
        log.append("in")
        yield
        log.append("out")

    @cm()
    def g(x):
        return x + 1

    def f(x):
        return g(g(x))

    return times(C, f, (x0(),), (x0(),)), log


@prog
def cm_noyield(C):
    @contextlib.contextmanager
    def cm():
        if False:
            yield

    @contextlib.contextmanager
    def two():
        yield 1
        yield 2

    def f(x, w):
        try:
            with w():
                x = x + 1
        except Exception as e:
            return x, type(e).__name__, str(e)

    return times(C, f, (x0(), cm), (x0(), two))


@prog
def cm_stop_iteration(C):
    @contextlib.contextmanager
    def cm():
        try:
            yield
        finally:
            pass

    def f(x):
        try:
            with cm():
                raise StopIteration("q")
        except StopIteration as e:
            return x, e.value, repr(e.__context__)

    return times(C, f, (x0(),), (x0(),))
