"""Generators, coroutines, context managers and exceptions: what is sent, thrown, closed, swallowed, chained and left behind."""

import asyncio
import contextlib

from tests.review.harness import prog, told_whole, x0


@prog
def generator_send_throw_close(C):
    log = []

    def g(x):
        got = 0
        try:
            while True:
                try:
                    got = yield x * got
                    log.append(got)
                except ValueError as e:
                    log.append(str(e))
                    got = 10
        finally:
            log.append("closed")

    def f(x):
        it = g(x)
        a = next(it)
        b = it.send(2)
        d = it.throw(ValueError("v"))
        it.close()
        return a, b, d, next(it, None), told_whole(it.send, 1), told_whole(it.throw, KeyError("k"))

    c = C(f)
    return c(x0()), c(x0()), log


@prog
def generator_return_values_and_yield_from(C):
    def inner(n):
        got = yield n
        return got or n * 2

    def outer(x):
        a = yield from inner(1)
        b = yield from [7, 8]
        d = yield from inner(a)
        return x * d, b

    def f(x):
        it = outer(x)
        out = [next(it), it.send(5), next(it), next(it)]
        try:
            it.send(None)
        except StopIteration as e:
            out.append(e.value)
        return out

    c = C(f)
    return c(x0()), c(x0())


@prog
def generator_state_is_seen(C):
    import inspect

    def g():
        yield 1
        yield 2

    def f(x, it):
        s = [inspect.getgeneratorstate(it)]
        v = next(it)
        s.append(inspect.getgeneratorstate(it))
        s.append(it.gi_frame is None)
        rest = list(it)
        s.append(inspect.getgeneratorstate(it))
        s.append(it.gi_frame is None)
        return x * v, s, rest, it.__name__, it.gi_running

    c = C(f)
    return c(x0(), g()), c(x0(), g())


@prog
def generators_left_half_way_are_closed(C):
    log = []

    def g(n):
        try:
            yield n
            yield n + 1
        except GeneratorExit:
            log.append(("exit", n))
            raise
        finally:
            log.append(("finally", n))

    def f(x):
        for v in g(1):
            break
        log.append("after loop")
        it = g(2)
        next(it)
        it = None
        log.append("after none")
        a, *_ = g(5)
        return x * v + a

    c = C(f)
    return c(x0()), c(x0()), log


@prog
def generator_ignores_exit(C):
    def g():
        while True:
            try:
                yield 1
            except GeneratorExit:
                pass

    def f(x):
        it = g()
        next(it)
        try:
            it.close()
        except RuntimeError as e:
            return x, str(e)
        return x + 100

    c = C(f)
    return c(x0()), c(x0())


@prog
def reentered_generator(C):
    def f(x):
        def g():
            yield next(it)

        it = g()
        try:
            next(it)
        except ValueError as e:
            return x + 1, str(e)

    c = C(f)
    return c(x0()), c(x0())


@prog
def generator_expression_binds_early(C):
    def f(x):
        seq = [1, 2, 3]
        k = 2
        it = (v * k for v in seq)
        seq = [9]
        k = 10
        return x * sum(it), told_whole(lambda: (v for v in 5))

    c = C(f)
    return c(x0()), c(x0())


@prog
def stopiteration_escapes(C):
    def g():
        yield 1
        raise StopIteration(3)

    def f(x):
        try:
            return x * sum(g())
        except RuntimeError as e:
            return x, str(e), type(e.__cause__).__name__, e.__cause__.value, e.__context__ is e.__cause__

    c = C(f)
    return c(x0()), c(x0())


@prog
def coroutine_driven_by_hand(C):
    class Wait:
        def __await__(self):
            v = yield "asked"
            return v

    async def co(x):
        a = await Wait()
        async with Ctx() as b:
            return x * a * b

    class Ctx:
        async def __aenter__(self):
            return await Wait()

        async def __aexit__(self, *a):
            return False

    def f(x):
        it = co(x)
        out = [it.send(None), it.send(2)]
        try:
            it.send(3)
        except StopIteration as e:
            out.append(e.value)
        return out

    c = C(f)
    return c(x0()), c(x0())


@prog
def async_generators(C):
    async def g(x):
        for i in range(3):
            yield x * i

    async def main(x):
        return [v async for v in g(x) if v.sum() >= 0] + [await asyncio.sleep(0, x)]

    c = C(main)
    return asyncio.run(c(x0())), asyncio.run(c(x0()))


@prog
def swallowing_contexts(C):
    log = []

    class Cm:
        def __init__(self, answer):
            self.answer = answer

        def __enter__(self):
            return self

        def __exit__(self, kind, e, tb):
            log.append((kind and kind.__name__, str(e), tb is not None))
            return self.answer

    def f(x, answer):
        r = 1
        with Cm(answer) as a, Cm(False):
            r = 2
            x[99]
            r = 3
        return x * r, a is not None

    c = C(f)
    return told_whole(c, x0(), True), told_whole(c, x0(), False), told_whole(c, x0(), []), told_whole(c, x0(), [1]), log


@prog
def exit_truth_asked(C):
    class T:
        def __bool__(self):
            raise KeyError("truth")

    class Cm:
        def __enter__(self):
            return self

        def __exit__(self, *a):
            return T()

    def f(x):
        with Cm():
            raise ValueError("v")
        return x

    def g(x):
        with Cm():
            x = x + 1
        return x

    c, d = C(f), C(g)
    return told_whole(c, x0()), told_whole(c, x0()), d(x0())


@prog
def contextmanager_swallows_and_replaces(C):
    @contextlib.contextmanager
    def swallow(*kinds):
        try:
            yield
        except kinds as e:
            seen.append(str(e))

    @contextlib.contextmanager
    def change():
        try:
            yield
        except ValueError as e:
            raise KeyError("changed") from e

    seen = []

    def f(x, k):
        with swallow(KeyError):
            with change():
                if k:
                    raise ValueError("v")
                x = x + 1
        return x

    c = C(f)
    return c(x0(), 1), c(x0(), 0), c(x0(), 1), seen


@prog
def exitstack_order_and_callbacks(C):
    log = []

    def f(x, k):
        with contextlib.ExitStack() as s:
            s.callback(log.append, "a")
            s.push(lambda *a: log.append(a[0]) or k)
            s.enter_context(contextlib.suppress(ZeroDivisionError))
            s.callback(log.append, "b")
            moved = s.pop_all() if k == 2 else s
            1 // 0 if k == 1 else 0
            if k == 3:
                raise ValueError("v")
        log.append("mid")
        moved.close()
        return x * (k + 1)

    c = C(f)
    return [told_whole(c, x0(), k) for k in (0, 1, 2, 3)], [getattr(v, "__name__", v) for v in log]
