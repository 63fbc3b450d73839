"""Handlers, finally and groups of exceptions, with breaks among them."""

import sys

import weft
from tests.review.harness import brk, prog, times, x0


@prog
def finally_return(C):
    def f(x):
        try:
            raise ValueError("a")
        finally:
            return x + 1

    return times(C, f, (x0(),), (x0(),))


@prog
def finally_return_break(C):
    log = []

    def f(x):
        for i in range(3):
            try:
                brk()
                if i == 1:
                    raise ValueError("a")
                x = x + 1
            finally:
                log.append(i)
                brk()
                if i == 1:
                    break
                if i == 0:
                    continue
        return x

    return times(C, f, (x0(),), (x0(),)), log


@prog
def finally_swallow_return(C):
    def f(x):
        try:
            return x + 1
        finally:
            try:
                brk()
                raise KeyError(1)
            except KeyError:
                x = x + 10

    return times(C, f, (x0(),), (x0(),))


@prog
def nested_context(C):
    def f(x):
        try:
            try:
                raise ValueError("a")
            except ValueError as e:
                brk()
                raise KeyError("b")
        except KeyError as k:
            return x + 1, repr(k.__context__), k.__cause__, k.__suppress_context__

    return times(C, f, (x0(),), (x0(),))


@prog
def unbound_after_except(C):
    def f(x, n):
        e = 5
        try:
            if n:
                raise ValueError("a")
        except ValueError as e:
            pass
        return x + e

    return times(C, f, (x0(), 0), (x0(), 1), (x0(), 0))


@prog
def unbound_break(C):
    def f(x, n):
        if n:
            y = x + 1
        brk()
        return y

    return times(C, f, (x0(), 1), (x0(), 0), (x0(), 1))


@prog
def name_error(C):
    def f(x):
        try:
            return x + undefined_thing
        except NameError as e:
            return x, str(e), e.name

    return times(C, f, (x0(),), (x0(),))


@prog
def attribute_error_obj(C):
    class A:
        pass

    o = A()

    def f(x):
        try:
            return x + o.zz
        except AttributeError as e:
            return x, str(e), e.name, e.obj is o

    return times(C, f, (x0(),), (x0(),))


@prog
def key_error_args(C):
    def f(x):
        try:
            {}[(1, 2)]
        except KeyError as e:
            return x, e.args, str(e)

    return times(C, f, (x0(),), (x0(),))


@prog
def unpack_errors(C):
    def f(x, v):
        try:
            a, b = v
            return x, a, b
        except Exception as e:
            return x, type(e).__name__, str(e)

    return times(
        C,
        f,
        (x0(), (1,)),
        (x0(), (1, 2, 3)),
        (x0(), 5),
        (x0(), "ab"),
        (x0(), {1: 2, 3: 4}),
        (x0(), [1]),
        (x0(), iter([1])),
        (x0(), None),
    )


@prog
def star_unpack(C):
    def f(x, v):
        try:
            a, *b, c = v
            return x, a, b, c
        except Exception as e:
            return x, type(e).__name__, str(e)

    return times(C, f, (x0(), (1,)), (x0(), (1, 2, 3)), (x0(), 5), (x0(), "abcd"), (x0(), range(5)))


@prog
def sys_exc_info_in_handler(C):
    def f(x):
        try:
            raise ValueError("a")
        except ValueError:
            t, v, tb = sys.exc_info()
            brk()
            u = sys.exc_info()[1]
            return x, t.__name__, str(v), v is u

    return times(C, f, (x0(),), (x0(),)), sys.exc_info()


@prog
def reraise_bare(C):
    def f(x):
        try:
            try:
                raise ValueError("a")
            except ValueError:
                brk()
                raise
        except ValueError as e:
            return x, str(e), repr(e.__context__)

    return times(C, f, (x0(),), (x0(),))


@prog
def bare_raise_nothing(C):
    def f(x):
        try:
            raise
        except RuntimeError as e:
            return x, str(e)

    return times(C, f, (x0(),), (x0(),))


@prog
def called_in_handler(C):
    def f(x):
        try:
            raise
        except ValueError as e:
            return x, str(e)

    c = C(f)
    out = []
    for i in range(3):
        try:
            raise ValueError(i)
        except ValueError:
            out.append(c(x0()))
    return out


@prog
def context_from_caller(C):
    def f(x):
        y = x + 1
        raise KeyError("inner")

    c = C(f)
    out = []
    for i in range(3):
        try:
            try:
                raise ValueError(i)
            except ValueError:
                c(x0())
        except KeyError as e:
            out.append(repr(e.__context__))
    return out


@prog
def assert_messages(C):
    def f(x, n):
        try:
            assert n == 1, f"n is {n}"
        except AssertionError as e:
            return x, e.args
        assert n
        return x

    return times(C, f, (x0(), 1), (x0(), 2), (x0(), 1))


@prog
def keyboard_interrupt(C):
    def f(x):
        try:
            raise KeyboardInterrupt
        except Exception:
            return 1
        except BaseException as e:
            return x, type(e).__name__

    return times(C, f, (x0(),), (x0(),))


@prog
def stop_iteration_value(C):
    def g():
        yield 1
        return 5

    def f(x):
        it = g()
        next(it)
        try:
            next(it)
        except StopIteration as e:
            return x * e.value, e.args

    return times(C, f, (x0(),), (x0(),))


@prog
def except_tuple_dynamic(C):
    def f(x, kinds):
        try:
            raise ValueError("a")
        except kinds as e:
            return x, 1

    return times(C, f, (x0(), (ValueError,)), (x0(), KeyError), (x0(), (KeyError, ValueError)), (x0(), 3), (x0(), (3,)), (x0(), ()))


@prog
def lineno_traceback(C):
    import traceback

    def g(x):
        raise ValueError("deep")

    def f(x):
        y = x + 1
        brk()
        return g(y)

    c = C(f)
    out = []
    for _ in range(3):
        try:
            c(x0())
        except ValueError as e:
            out.append([(s.name, s.line) for s in traceback.extract_tb(e.__traceback__)][1:])
    return out


@prog
def tb_in_handler(C):
    import traceback

    def g(x):
        raise ValueError("deep")

    def f(x):
        try:
            g(x)
        except ValueError as e:
            return x + 1, [(s.name, s.line) for s in traceback.extract_tb(e.__traceback__)]

    return times(C, f, (x0(),), (x0(),))


@prog
def exc_in_genexp(C):
    def f(x):
        try:
            return sum(1 / i for i in [1, 0])
        except ZeroDivisionError as e:
            return x, str(e)

    return times(C, f, (x0(),), (x0(),))


@prog
def exc_in_sort_key(C):
    def f(x, l):
        try:
            l.sort(key=lambda v: 1 / v)
        except ZeroDivisionError as e:
            return x, str(e), l

    return times(C, f, (x0(), [3, 2, 0, 1]), (x0(), [1, 0]))


@prog
def effects_before_exception(C):
    log = []
    d = {}

    class O:
        pass

    o = O()

    def f(x, n):
        log.append(1)
        d["a"] = n
        o.k = n
        x.add_(1)
        if n == 2:
            raise ValueError("two")
        log.append(2)
        return x

    t = x0()
    r = times(C, f, (t, 1), (t, 2), (t, 1), (t, 2))
    return r, log, d, o.k, t


@prog
def effects_before_exception_opaque(C):
    log = []

    @weft.compiler.disable
    def bad():
        raise ValueError("bad")

    def f(x, t):
        log.append(1)
        t.add_(1)
        try:
            log.append(2)
            t.mul_(2)
            bad()
            log.append(3)
        except ValueError:
            log.append(4)
            t.add_(3)
        finally:
            log.append(5)
        return x + t

    t = x0()
    return times(C, f, (x0(), t), (x0(), t)), log, t


@prog
def deep_handlers(C):
    def f(x, n):
        out = []
        for i in range(n):
            try:
                try:
                    try:
                        brk()
                        raise (ValueError, KeyError, TypeError)[i](i)
                    except ValueError as e:
                        out.append(("v", str(e)))
                        raise KeyError("from v")
                    finally:
                        out.append("f1")
                        brk()
                except KeyError as e:
                    out.append(("k", str(e), repr(e.__context__)))
            except TypeError as e:
                out.append(("t", str(e)))
            else:
                out.append("else")
                continue
            finally:
                out.append("f2")
        return x, out

    return times(C, f, (x0(), 3), (x0(), 3), (x0(), 1))


@prog
def recursion_error(C):
    def g(x, n):
        return g(x, n + 1)

    def f(x):
        try:
            return g(x, 0)
        except RecursionError as e:
            return x, str(e)[:32]

    return times(C, f, (x0(),), (x0(),))
