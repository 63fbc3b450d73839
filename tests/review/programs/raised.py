"""Exceptions: chained, grouped, handled by what changes, replaced in `finally`; iterators that keep their state."""

import itertools
import sys
import traceback

from tests.review.harness import prog, told_whole, x0


@prog
def chains_of_exceptions(C):
    def f(x, k):
        try:
            try:
                raise KeyError("a")
            except KeyError as e:
                if k == 0:
                    raise ValueError("b")
                if k == 1:
                    raise ValueError("b") from e
                if k == 2:
                    raise ValueError("b") from None
                if k == 3:
                    raise
                if k == 4:
                    e.add_note("n")
                    raise e
                if k == 5:
                    raise ValueError("b").with_traceback(e.__traceback__)
        except Exception as e:
            e.add_note("seen")
            chain = []
            at = e
            while at is not None and len(chain) < 5:
                chain.append((type(at).__name__, at.__suppress_context__, getattr(at, "__notes__", None), len(traceback.extract_tb(at.__traceback__))))
                at = at.__context__
            return x, chain, e.__cause__
        return x

    c = C(f)
    return [c(x0(), k) for k in range(7)]


@prog
def groups_split_and_nested(C):
    def f(x, k):
        log = []
        try:
            try:
                raise ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [KeyError(2), TypeError(3)]), OSError(4)][: k + 1])
            except* ValueError as e:
                log.append(("v", len(e.exceptions)))
                if k == 2:
                    raise RuntimeError("new")
            except* (KeyError, OSError) as e:
                log.append(("k", [type(i).__name__ for i in e.exceptions], e.message))
        except BaseException as e:
            log.append((type(e).__name__, str(e), [type(i).__name__ for i in getattr(e, "exceptions", [])]))
        log.append(type(sys.exc_info()[1]).__name__)
        return x + k, log

    c = C(f)
    return [c(x0(), k) for k in range(4)]


@prog
def except_star_bare_exceptions(C):
    def f(x, e):
        out = []
        try:
            try:
                raise e
            except* ValueError as g:
                out.append((type(g).__name__, str(g), g.exceptions[0] is e))
            else:
                out.append("else")
            finally:
                out.append("finally")
        except Exception as o:
            out.append((type(o).__name__, o is e))
        return x, out, type(sys.exc_info()[1]).__name__

    c = C(f)
    return [c(x0(), e) for e in (ValueError("a"), KeyError("b"), ExceptionGroup("c", [ValueError("d"), KeyError("e")]))]


@prog
def handled_by_a_changing_class(C):
    kinds = [ValueError]

    def f(x):
        try:
            raise KeyError("k")
        except tuple(kinds):
            return x + 1
        except LookupError:
            return x + 2

    c = C(f)
    r = [c(x0())]
    kinds.append(KeyError)
    r.append(c(x0()))
    kinds[:] = [int]
    r.append(told_whole(c, x0()))
    return r


@prog
def handler_that_is_no_class(C):
    def f(x, k):
        try:
            raise ValueError("v")
        except k:
            return x + 1

    c = C(f)
    return [told_whole(c, x0(), k) for k in (ValueError, 3, "s", (ValueError, 3), (3, ValueError), ((ValueError,),), int, None)]


@prog
def raise_of_what_is_no_exception(C):
    class Bad(Exception):
        def __new__(cls):
            return 3

    class Own(Exception):
        def __init__(self):
            raise KeyError("in init")

    def f(x, k):
        raise k

    def g(x, k):
        raise ValueError("v") from k

    c, d = C(f), C(g)
    first = [told_whole(c, x0(), k) for k in (3, int, None, Bad, Own, ValueError, ValueError("i"), x0())]
    return first, [told_whole(d, x0(), k) for k in (3, KeyError, KeyError("c"), None, int)]


@prog
def finally_in_loops(C):
    log = []

    def f(x, n):
        for i in range(n):
            try:
                if i == 1:
                    continue
                if i == 3:
                    break
                x = x + 1
            except ValueError:
                log.append("never")
            else:
                log.append(("else", i))
            finally:
                log.append(("finally", i))
                if i == 2:
                    continue
            log.append(("end", i))
        else:
            log.append("loop else")
        return x

    c = C(f)
    return c(x0(), 2), c(x0(), 5), c(x0(), 3), log


@prog
def return_value_replaced_in_finally(C):
    def f(x, k):
        r = [x]
        try:
            if k == 0:
                return r
            if k == 1:
                raise ValueError("v")
            return x
        finally:
            r.append(k)
            x = x + 100
            if k >= 1:
                return x

    c = C(f)
    return [c(x0(), k) for k in range(3)]


@prog
def exceptions_with_own_state(C):
    class E(Exception):
        def __init__(self, code, *, extra=None):
            super().__init__(f"code {code}")
            self.code = code
            self.extra = extra or []

        def __str__(self):
            return f"E{self.code}{self.extra}"

        def __reduce__(self):
            return E, (self.code,)

    def f(x, k):
        try:
            raise E(k, extra=[k])
        except E as e:
            e.extra.append("more")
            e.args += (k,)
            return x * e.code, str(e), e.args, repr(e), e

    c = C(f)
    a, b = c(x0(), 1), c(x0(), 2)
    return a[:4], b[:4], a[4].extra, b[4].extra, vars(a[4])


@prog
def traceback_lines_of_compiled(C):
    def g(x):
        y = x + 1
        raise ValueError("deep")

    def f(x):
        y = x * 2
        return g(y)

    def names(c):
        try:
            c(x0())
        except ValueError as e:
            return [(s.name, s.line) for s in traceback.extract_tb(e.__traceback__) if s.name in ("f", "g")]

    c = C(f)
    return names(c), names(c)


@prog
def keyboard_and_system_exit(C):
    def f(x, e):
        try:
            raise e
        except Exception:
            return x + 1
        finally:
            seen.append(type(e).__name__)

    seen = []
    c = C(f)
    return [told_whole(c, x0(), e) for e in (KeyboardInterrupt("k"), SystemExit(3), GeneratorExit(), ValueError(), BaseException("b"))], seen


@prog
def itertools_keep_state(C):
    it = itertools.count(5, 2)
    cy = itertools.cycle([1, 2])
    a, b = itertools.tee(iter(range(10)))
    z = zip(iter([1, 2, 3]), itertools.repeat(4, 2))

    def f(x):
        return x * next(it), next(cy), next(a), next(b, None), next(z, "end"), list(itertools.islice(it, 2))

    c = C(f)
    return c(x0()), next(it), next(cy), c(x0()), list(a)[:3], c(x0()), next(it)


@prog
def iterators_are_shared_and_partly_used(C):
    def f(x, it):
        first = next(it)
        pairs = list(zip(it, it))
        return x * first, pairs, list(it)

    c = C(f)
    r = []
    for n in (5, 6, 1):
        it = iter(list(range(1, n + 1)))
        r.append((c(x0(), it), next(it, "none")))
    r.append(c(x0(), (i for i in range(3, 9))))
    r.append(c(x0(), reversed([1, 2, 3])))
    r.append(c(x0(), map(abs, [-1, -2, -3])))
    return r


@prog
def zip_strict_and_leftovers(C):
    def f(x, n, m, strict):
        a, b = iter(range(n)), iter(range(m))
        try:
            got = list(zip(a, b, strict=strict))
        except ValueError as e:
            got = str(e)
        return x, got, list(a), list(b), told_whole(lambda: list(map(lambda p, q: p, [1], None)))[:2]

    c = C(f)
    return [c(x0(), *k) for k in ((3, 3, True), (4, 2, False), (2, 4, False), (4, 2, True), (2, 4, True), (0, 0, True))]


@prog
def reduce_functions_stop_early(C):
    def f(x, v):
        it = iter(v)
        r = [any(it), list(it)]
        it = iter(v)
        r += [all(it), list(it)]
        it = iter(v)
        r += [2 in it, list(it)]
        ends = told_whole(sum, v), told_whole(min, v), told_whole(max, v, key=lambda k: -k), told_whole(sorted, v, reverse=True), told_whole(sum, v, 1.5)
        return x, r, ends, told_whole(max, []), max([], default=None), told_whole(sum, ["a"], ""), told_whole(sum, [[1], [2]], [])

    c = C(f)
    return [c(x0(), v) for v in ([0, 2, 0], [1, 0, 3], [], [2], [True, 1.5], ["a"], [None])]
