"""Programs of what is raised: causes, notes, groups, classes with fields of their own."""

import copy

from tests.review.harness import brk, prog, times, x0


@prog
def raise_from_none(C):
    def f(x):
        try:
            try:
                raise ValueError("a")
            except ValueError as e:
                raise KeyError("b") from None
        except KeyError as k:
            return x + 1, repr(k.__context__), k.__cause__, k.__suppress_context__

    return times(C, f, (x0(),), (x0(),))


@prog
def raise_from_cls(C):
    def f(x):
        try:
            raise KeyError("b") from ValueError
        except KeyError as k:
            return x + 1, repr(k.__cause__), k.__suppress_context__

    return times(C, f, (x0(),))


@prog
def raise_from_bad(C):
    def f(x):
        try:
            raise KeyError("b") from 3
        except TypeError as k:
            return x + 1, str(k), repr(k.__context__)

    return times(C, f, (x0(),))


@prog
def raise_bad(C):
    def f(x, e):
        try:
            raise e
        except Exception as k:
            return x + 1, type(k).__name__, str(k)

    return times(C, f, (x0(), 3), (x0(), ValueError), (x0(), ValueError(2)), (x0(), int), (x0(), None))


@prog
def notes(C):
    def f(x):
        e = ValueError("a")
        e.add_note("n1")
        brk()
        e.add_note("n2")
        try:
            raise e
        except ValueError as k:
            k.add_note("n3")
            return x, k.__notes__, k is e

    return times(C, f, (x0(),), (x0(),))


@prog
def notes_raise(C):
    def f(x):
        y = x + 1
        e = ValueError("a")
        e.add_note("n1")
        e.extra = 3
        raise e

    c = C(f)
    out = []
    for _ in range(3):
        try:
            c(x0())
        except ValueError as e:
            out.append((e.__notes__, e.extra, e.args, e.__traceback__ is not None))
    return out


@prog
def add_note_bad(C):
    def f(x):
        try:
            ValueError("a").add_note(3)
        except TypeError as k:
            return x, str(k)

    return times(C, f, (x0(),))


@prog
def group(C):
    def f(x):
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2), ExceptionGroup("h", [ValueError(3)])])
        except* ValueError as e:
            a = [repr(i) for i in e.exceptions]
        except* KeyError as e:
            b = [repr(i) for i in e.exceptions]
        return x + 1, a, b

    return times(C, f, (x0(),), (x0(),))


@prog
def group_partial(C):
    def f(x):
        try:
            raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
        except* ValueError as e:
            brk()
            x = x + 1
        return x

    c = C(f)
    out = []
    for _ in range(2):
        try:
            c(x0())
        except BaseException as e:
            out.append((type(e).__name__, str(e), repr(e.exceptions)))
    return out


@prog
def group_split(C):
    def f(x):
        g = ExceptionGroup("g", [ValueError(1), KeyError(2)])
        a, b = g.split(ValueError)
        return x, repr(a), repr(b), repr(g.subgroup(lambda e: isinstance(e, KeyError))), g.derive([ValueError(9)]).message

    return times(C, f, (x0(),))


@prog
def exc_subclass_init(C):
    class E(Exception):
        def __init__(self, a, *, b=2):
            self.a, self.b = a, b

        def __str__(self):
            return f"E{self.a}{self.b}"

    def f(x):
        try:
            raise E(1, b=3)
        except E as e:
            brk()
            return x, str(e), repr(e), e.args, e.a

    return times(C, f, (x0(),), (x0(),))


@prog
def exc_pickle_copy(C):
    def f(x):
        e = ValueError("a", 2)
        e.q = 3
        g = copy.copy(e)
        return x, g.args, g.q, g is e, type(g).__name__

    return times(C, f, (x0(),), (x0(),))


@prog
def oserror_fields(C):
    def f(x):
        try:
            raise OSError(2, "no", "file")
        except FileNotFoundError as e:
            return x, e.errno, e.strerror, e.filename, str(e), e.args

    return times(C, f, (x0(),), (x0(),))
