"""Generators, iterators and context managers: shared, left early, closed, alive at a break."""

import asyncio
import contextlib
import inspect
import itertools

import weft
from tests.review.harness import prog, x0


@prog
def gen_finally(C):
    def gen(log):
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    def f(x, log):
        for v in gen(log):
            break
        return x + v

    log = []
    return C(f)(x0(), log), log


@prog
def contextmanager_gen(C):
    log = []

    @contextlib.contextmanager
    def cm(k):
        log.append(("in", k))
        try:
            yield k * 2
        except KeyError:
            log.append("swallowed")
        finally:
            log.append(("out", k))

    def f(x, k):
        with cm(k) as v, contextlib.suppress(ZeroDivisionError):
            x = x * v
            if k == 2:
                raise KeyError(k)
            if k == 3:
                1 / 0
            print("mid")
            x = x + 1
        return x

    f = C(f)
    return [f(x0(), k) for k in (1, 2, 3, 1)], log


@prog
def exitstack(C):
    log = []

    class CM:
        def __init__(self, n):
            self.n = n

        def __enter__(self):
            log.append(("e", self.n))
            return self.n

        def __exit__(self, *a):
            log.append(("x", self.n))

    def f(x):
        with contextlib.ExitStack() as st:
            t = sum(st.enter_context(CM(i)) for i in range(3))
            st.callback(lambda: log.append("cb"))
            x = x * t
        return x

    return C(f)(x0()), log


@prog
def generators_various(C):
    def g(n):
        r = yield n
        while r is not None:
            r = yield r * 2
        return "done"

    def outer(n):
        v = yield from g(n)
        yield v

    def f(x):
        it = outer(3)
        a = next(it)
        b = it.send(5)
        c = it.send(None)
        s = sum(i * j for i in range(3) for j in (1, 2) if i != j)
        l = [*map(lambda q: q + 1, filter(lambda q: q % 2, range(6)))]
        return x * a + b, c, s, l, dict(zip("ab", itertools.count(1))), list(itertools.islice(itertools.cycle([1, 2]), 5))

    return C(f)(x0())


@prog
def gen_returned(C):
    def f(x):
        return (x * i for i in range(3))

    return list(C(f)(x0()))


@prog
def gen_arg(C):
    def f(x, g):
        return x + sum(g)

    return C(f)(x0(), (i for i in range(3)))


@prog
def generator_function_compiled(C):
    def f(x):
        y = x + 1
        yield y
        yield y * 2

    return list(C(f)(x0()))


@prog
def iterator_partial(C):
    def f(x, it):
        return x * next(it)

    it = iter([1, 2, 3])
    f = C(f)
    return f(x0(), it), f(x0(), it), f(x0(), it), list(it)


@prog
def iterator_break_kept(C):
    def f(x, l):
        it = iter(l)
        a = next(it)
        print(a)
        return x * next(it) + sum(it)

    return C(f)(x0(), [1, 2, 3, 4])


@prog
def zip_enumerate_break(C):
    def f(x, l):
        for i, (a, b) in enumerate(zip(l, map(lambda q: q * 2, l))):
            x = x + a * b
            if i == 1:
                print("i", i)
        return x

    return C(f)(x0(), [1, 2, 3, 4])


@prog
def gen_close_throw(C):
    log = []

    def g():
        try:
            while True:
                try:
                    v = yield 1
                except KeyError:
                    yield 99
        finally:
            log.append("fin")

    def f(x):
        it = g()
        a = next(it)
        b = it.throw(KeyError("k"))
        c = next(it)
        it.close()
        return x * a + b + c, log

    return C(f)(x0()), log


@prog
def gen_partial_then_dropped_with(C):
    log = []
    import contextlib

    @contextlib.contextmanager
    def cm():
        log.append("in")
        try:
            yield
        finally:
            log.append("out")

    def g():
        with cm():
            for i in range(3):
                yield i

    def f(x):
        a = next(g())
        first = next(iter(g()))
        for v in g():
            if v == 1:
                break
        return x + a + first, list(log)

    return C(f)(x0()), log


@prog
def async_fn(C):
    async def g(x):
        await asyncio.sleep(0)
        return x + 1

    async def f(x):
        y = await g(x * 2)
        async with acm() as v:
            y = y * v
        return [y + i async for i in agen()]

    @contextlib.asynccontextmanager
    async def acm():
        yield 3

    async def agen():
        for i in range(2):
            yield i

    h = C(f)
    return asyncio.run(h(x0())), inspect.iscoroutinefunction(h)


@prog
def tensor_iter_unpack(C):
    def f(x):
        a, b = x
        (c, d), *rest = x.reshape(2, 2), 1
        return a + b[0], c, d, [r.sum() for r in x], len(x), list(zip(x, x))[1], x.tolist() if False else 0, max(*x.shape)

    return C(f)(weft.arange(4.0).reshape(2, 2))


@prog
def contextvar(C):
    import contextvars

    v = contextvars.ContextVar("v", default=2)

    def f(x):
        t = v.set(5)
        y = x * v.get()
        v.reset(t)
        return y + v.get()

    return C(f)(x0())


@prog
def generator_closed_although_a_rule_raised_before(C):
    log = []

    def counting():
        try:
            yield 1
        finally:
            log.append("closed")

    def swallowed(x):
        try:
            return x.reshape(9)
        finally:
            return "finally"

    def f(x):
        a = swallowed(x)
        g = counting()
        return x, a, next(g)

    c = C(f)
    return c(x0()), list(log), c(x0()), log
