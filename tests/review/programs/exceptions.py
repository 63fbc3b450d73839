"""Exceptions: raised, caught, chained, with constructors and texts of their own; tracebacks; finally."""

import math
import sys

import weft
from tests.review.harness import prog, x0


class E(Exception):
    def __init__(self, code, msg):
        super().__init__(msg)
        self.code = code


@prog
def exceptions_nested(C):
    def inner(x, k):
        try:
            if k == 0:
                raise ValueError("zero")
            if k == 1:
                raise KeyError("one")
            return x + 1
        except ValueError as e:
            raise RuntimeError("wrapped") from e
        finally:
            LOG.append(("fin", k))

    LOG = []

    def f(x, k):
        try:
            y = inner(x, k)
        except RuntimeError as e:
            return x * 2, str(e), type(e.__cause__).__name__, LOG[:]
        except KeyError as e:
            return x * 3, e.args, repr(e), LOG[:]
        else:
            return y, LOG[:]

    f = C(f)
    return [f(x0(), k) for k in (0, 1, 2, 0, 1)], LOG


@prog
def except_star(C):
    def f(x):
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError as e:
            a = len(e.exceptions)
        except* TypeError as e:
            b = 5
        return x * a + b

    return C(f)(x0())


@prog
def try_finally_loop(C):
    def f(x, n):
        log = []
        for i in range(5):
            try:
                if i == 1:
                    continue
                if i == n:
                    break
                x = x + i
            finally:
                log.append(i)
        else:
            log.append("else")
        return x, log

    f = C(f)
    return [f(x0(), n) for n in (0, 2, 9)]


@prog
def try_finally_break_print(C):
    def f(x, n):
        log = []
        for i in range(5):
            try:
                if i == 1:
                    continue
                print("it", i)
                if i == n:
                    break
                x = x + i
            finally:
                log.append(i)
        else:
            log.append("else")
        return x, log

    f = C(f)
    return [f(x0(), n) for n in (0, 2, 9)]


@prog
def return_in_finally(C):
    def f(x):
        try:
            return x / 0 if False else x + 1
        finally:
            print("f")
            return x * 5

    return C(f)(x0())


@prog
def traceback_lines(C):
    import traceback as tb

    def g(x):
        raise ValueError("v")

    def f(x):
        y = x + 1
        print("brk")
        g(y)

    f = C(f)
    try:
        f(x0())
    except ValueError as e:
        return [(fr.name, fr.line) for fr in tb.extract_tb(e.__traceback__) if fr.filename == __file__]


@prog
def traceback_in_handler(C):
    def f(x):
        try:
            raise ValueError("a")
        except ValueError as e:
            n = e.__traceback__.tb_lineno
        return x + (n > 0)

    return C(f)(x0())


@prog
def context_exit_tb(C):
    class CM:
        def __enter__(self):
            return self

        def __exit__(self, t, v, tb):
            self.seen = (t, tb is not None)
            return True

    cm = CM()

    def f(x):
        with cm:
            raise ValueError("a")
        return x + 1

    return C(f)(x0()), cm.seen


@prog
def exc_object_returned(C):
    def f(x):
        try:
            raise E(3, "m")
        except E as e:
            return x * e.code, e

    r = C(f)(x0())
    return r[0], r[1].code, r[1].args


@prog
def exc_handled_across_break(C):
    def f(x):
        try:
            raise E(3, "m")
        except E as e:
            print("in handler", e)
            x = x * e.code
        return x

    return C(f)(x0())


@prog
def exc_stored(C):
    errs = []

    def f(x):
        for k in range(2):
            try:
                if k:
                    raise E(k, "m")
            except Exception as e:
                errs.append(e)
        return x + len(errs)

    return C(f)(x0()), [(e.code, e.args, e.__traceback__ is not None) for e in errs]


@prog
def exc_str_override(C):
    class V(ValueError):
        def __str__(self):
            return "custom"

    def f(x):
        try:
            raise V("a")
        except ValueError as e:
            return x * len(str(e)), f"{e}", "%s" % e

    return C(f)(x0())


@prog
def exc_keyerror_str(C):
    def f(x):
        try:
            {}["k"]
        except KeyError as e:
            return x, str(e), repr(e), e.args[0]

    return C(lambda x: (x * 2, f(x)))(x0())


@prog
def exc_oserror(C):
    def f(x):
        try:
            raise OSError(2, "nope", "file")
        except OSError as e:
            return x * 2, e.errno, e.strerror, e.filename, type(e).__name__, str(e)

    return C(f)(x0())


@prog
def exc_unicode(C):
    def f(x):
        try:
            b"\xff".decode("utf8")
        except UnicodeDecodeError as e:
            return x * 2, e.start, e.reason, str(e)

    return C(f)(x0())


@prog
def exc_attr_error_name(C):
    class O:
        pass

    o = O()

    def f(x):
        out = []
        for fn in (
            lambda: o.zz,
            lambda: undefined_name,
            lambda: None.q,
            lambda: [].nope,
            lambda: (1).foo,
            lambda: x.nope,
            lambda: E.zip,
            lambda: math.nope,
        ):
            try:
                fn()
            except (AttributeError, NameError) as e:
                out.append((str(e), getattr(e, "name", 0)))
        return x * 2, out

    return C(f)(x0())


def raising(x):
    """Expressions that raise, one by one."""
    return (
        lambda: [1][5],
        lambda: {}["a"],
        lambda: int("q"),
        lambda: "a" + 1,
        lambda: 1 + "a",
        lambda: [] < 1,
        lambda: len(3),
        lambda: (lambda a: a)(),
        lambda: (lambda: 1)(2),
        lambda: iter(3),
        lambda: next(iter([])),
        lambda: [1, 2].index(9),
        lambda: "abc".index("z"),
        lambda: 1 / 0,
        lambda: 1 % 0,
        lambda: 5 // 0,
        lambda: 1.0 // 0,
        lambda: 2**-1.0 / 0,
        lambda: math.sqrt(-1),
        lambda: (1, 2)["a"],
        lambda: None + 1,
        lambda: -"a",
        lambda: {1: 2}.pop(9),
        lambda: [].pop(),
        lambda: set().pop(),
        lambda: "".join([1]),
        lambda: "{}".format(),
        lambda: "%d" % "a",
        lambda: [1, 2, 3][::0],
        lambda: range(1, 2, 0),
        lambda: min([]),
        lambda: sorted([1, "a"]),
        lambda: dict([1]),
        lambda: tuple(3),
        lambda: 3(),
        lambda: isinstance(1, 1),
        lambda: getattr(3, 4),
        lambda: [*3],
        lambda: {**3},
        lambda: (lambda **k: k)(**{1: 2}),
        lambda: ord("ab"),
        lambda: chr(-1),
        lambda: float("x"),
        lambda: complex("x"),
        lambda: bytes([300]),
        lambda: "a" * "b",
        lambda: [1] * 1.5,
        lambda: abs("a"),
        lambda: round("a"),
        lambda: sum(["a"]),
        lambda: divmod(1, 0),
        lambda: pow(2, -1, 0),
        lambda: int([]),
        lambda: zip(3),
        lambda: enumerate(3),
        lambda: reversed(3),
        lambda: map(3, [1]).__next__(),
        lambda: issubclass(3, int),
        lambda: hash({}),
        lambda: x[9],
        lambda: x + weft.ones(3),
        lambda: x @ weft.ones(3, 3),
        lambda: x.view(3),
        lambda: weft.cat([x, x[None]]),
        lambda: x.nope(),
        lambda: weft.zeros(-1),
        lambda: x.sum(5),
        lambda: x.to("nope"),
    )


@prog
def exc_messages(C):
    def f(x):
        out = []
        for fn in raising(x):
            try:
                fn()
                out.append("none")
            except Exception as e:
                out.append((type(e).__name__, str(e)))
        return out

    r = C(lambda x: (x * 2, f(x)))(x0())
    return r


@prog
def exc_subclass_attrs(C):
    class E(Exception):
        def __init__(self, code, **k):
            super().__init__(f"code {code}")
            self.code = code
            self.k = k

        def __str__(self):
            return f"<{self.code}>"

    def g(x):
        raise E(7, a=1)

    def f(x):
        try:
            g(x)
        except E as e:
            return x * e.code, str(e), e.k, e.args, isinstance(e, Exception), repr(e)

    return C(f)(x0())


@prog
def exc_add_note_group(C):
    def f(x):
        try:
            raise ValueError("a")
        except ValueError as e:
            e.add_note("n")
            e.foo = 3
            return x * e.foo, e.__notes__

    return C(f)(x0())


@prog
def exc_raised_to_caller(C):
    class E(Exception):
        pass

    l = []

    def f(x, k):
        l.append(k)
        y = x * 2
        if k:
            raise E("m", k)
        return y

    f = C(f)
    out = []
    for k in (0, 1, 0, 2):
        try:
            out.append(f(x0(), k))
        except E as e:
            out.append((e.args, e.__context__, e.__traceback__.tb_next is not None))
    return out, l


@prog
def stopiteration_manual(C):
    class It:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n == 0:
                raise StopIteration
            self.n -= 1
            return self.n

    it = It(3)

    def f(x):
        s = sum(v for v in it)
        try:
            next(it)
        except StopIteration:
            s += 100
        return x * s, next(it, "d"), list(zip(It(2), It(3)))

    return C(f)(x0()), it.n


@prog
def exc_context_chain(C):
    def f(x):
        try:
            try:
                raise ValueError("a")
            except ValueError:
                print("h")
                raise KeyError("b")
        except KeyError as e:
            print("k")
            return x + 1, repr(e.__context__), e.__suppress_context__, sys.exc_info()[0].__name__

    return C(f)(x0())


@prog
def reraise_bare(C):
    def f(x):
        try:
            print("a")
            raise ValueError("v")
        except ValueError:
            print("b")
            try:
                raise
            except ValueError as e:
                return x, str(e)

    return C(f)(x0())


@prog
def recursion_error(C):
    def rec(x):
        return rec(x + 1)

    try:
        C(rec)(x0())
    except RecursionError as e:
        return "RecursionError"


@prog
def with_try_break(C):
    log = []

    class CM:
        def __enter__(self):
            log.append("in")
            return 3

        def __exit__(self, t, v, tb):
            log.append(("out", t and t.__name__))
            return t is KeyError

    def f(x, k):
        for i in range(2):
            with CM() as c:
                try:
                    x = x * c
                    print("mid", i)
                    if k == 1:
                        raise KeyError("k")
                    if k == 2:
                        raise ValueError("v")
                    if k == 3:
                        return x
                    if k == 4:
                        break
                    if k == 5:
                        continue
                except ValueError as e:
                    print("caught", e)
                    x = x + 1
                finally:
                    print("fin")
        return x + 100

    f = C(f)
    return [f(x0(), k) for k in range(6)], log
