"""Programs of what is entered and left: generators, contexts, closures, exceptions and their groups."""

import contextlib

from tests.review.harness import prog, told_whole, x0


@prog
def generators_of_all_kinds(C):
    log = []

    def inner(n):
        try:
            got = 0
            for i in range(n):
                got = (yield i * 10 + got) or 0
        except ZeroDivisionError as e:
            log.append(("caught", str(e)))
            yield -1
        finally:
            log.append("closed")
        return n

    def outer(n):
        r = yield from inner(n)
        log.append(("returned", r))
        yield r

    def f(x, n):
        g = outer(n)
        r = [next(g), told_whole(g.send, 3), g.gi_frame is None]
        h = outer(n)
        r += [told_whole(h.send, 5), next(h), told_whole(h.throw, ZeroDivisionError("z")), told_whole(next, h), told_whole(next, h), told_whole(next, h, "end")]
        k = outer(n)
        next(k)
        k.close()
        r += [told_whole(next, k), k.gi_frame is None, list(g), sum(outer(n))]
        return x * len(r), r

    c = C(f)
    return [(c(x0(), n), log.copy(), log.clear()) for n in (2, 3, 2)]


@prog
def contexts_of_all_kinds(C):
    log = []

    class Ctx:
        def __init__(self, name, swallow=False):
            self.name, self.swallow = name, swallow

        def __enter__(self):
            log.append("+" + self.name)
            return self.name

        def __exit__(self, cls, value, tb):
            log.append(("-" + self.name, cls and cls.__name__, str(value), tb is not None))
            return self.swallow

    @contextlib.contextmanager
    def made(name, again=False):
        try:
            yield name
        except KeyError as e:
            log.append(("made", str(e)))
            if again:
                raise RuntimeError("again") from e
        finally:
            log.append("~" + name)

    def f(x, k):
        def body():
            with Ctx("a") as a, made("b", again=k == 2) as b, contextlib.suppress(ValueError), Ctx("c", k == 3):
                if k == 1:
                    raise ValueError("one")
                if k >= 2:
                    raise KeyError("two")
                return a + b
            return "after"

        with contextlib.ExitStack() as stack:
            r = told_whole(body)
            stack.callback(log.append, "callback")
            stack.enter_context(Ctx("d"))
            stack.push(lambda *e: log.append(e[0]))
        return x + k, r

    c = C(f)
    return [(c(x0(), k), log.copy(), log.clear()) for k in (0, 1, 2, 3, 4, 1)]


@prog
def closures_that_rebind(C):
    def f(x, n):
        total = 0
        fs = []
        for i in range(n):
            def add(k, i=i):
                nonlocal total
                total += k * i
                return total

            fs.append(add)
            fs.append(lambda: i)
        r = [g(2) if j % 2 == 0 else g() for j, g in enumerate(fs)]
        return x * total, r, add.__defaults__, add.__code__.co_freevars, [v.cell_contents for v in add.__closure__]

    c = C(f)
    return [c(x0(), n) for n in (2, 3, 2)]


@prog
def exceptions_of_all_kinds(C):
    class Mine(ValueError):
        def __init__(self, a, b=2):
            super().__init__(a, b)
            self.a = a

        def __str__(self):
            return f"mine {self.a}"

    def f(x, k):
        log = []

        def g():
            try:
                if k == 0:
                    raise Mine(1)
                if k == 1:
                    [][k]
                if k == 2:
                    raise Mine(2) from KeyError("cause")
                if k == 3:
                    try:
                        {}["a"]
                    except KeyError:
                        raise TypeError("in handler") from None
                if k == 4:
                    raise ExceptionGroup("group", [ValueError(1), TypeError(2)])
                log.append("no error")
            except Mine as e:
                e.add_note("note")
                log.append((str(e), e.args, e.a, type(e.__cause__).__name__, e.__notes__))
                raise
            except (IndexError, OSError) as e:
                log.append(str(e))
                return "index"
            except TypeError as e:
                log.append((str(e), e.__suppress_context__, type(e.__context__).__name__))
            else:
                log.append("else")
            finally:
                log.append("finally")
                if k == 5:
                    return "from finally"
            return "end"

        return x * len(log), told_whole(g), log

    c = C(f)
    return [c(x0(), k) for k in (0, 1, 2, 3, 5, 0)]


@prog
def exception_groups(C):
    def f(x, k):
        log = []
        try:
            raise ExceptionGroup("g", [ValueError(k), TypeError(2), ExceptionGroup("h", [ValueError(3)])])
        except* ValueError as e:
            log.append((e.message, len(e.exceptions)))
        except* TypeError as e:
            log.append(str(e.exceptions[0]))
        return x + k, log

    c = C(f)
    return [c(x0(), k) for k in (1, 2)]
