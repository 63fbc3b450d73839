"""OSError and its kin: which of their C constructors reads the arguments follows from what a subclass defines."""

import pytest

import weft


class Silent(OSError):
    def __init__(self, code):
        self.code = code


class Told(OSError):
    def __init__(self, code):
        super().__init__(code, "told")
        self.code = code


class Direct(OSError):
    def __init__(self, code):
        OSError.__init__(self, code)


class Absent(FileNotFoundError):
    def __init__(self, name):
        super().__init__(2, "none", name)


class Made(OSError):
    def __new__(cls, code):
        return super().__new__(cls, code, "made")


class Both(Made):
    def __init__(self, code):
        super().__init__(code, "again")


class Bare(OSError):
    pass


class Named(OSError):
    def __init__(self, code):
        super().__init__(code, name="n")


CLASSES = [Silent, Told, Direct, Absent, Made, Both, Bare, Named, OSError, BlockingIOError]


def made(cls):
    def f(x):
        y = x * 2
        try:
            e = cls(2)
        except TypeError as refused:
            return y, str(refused)
        return y, e, e.args, e.errno, e.strerror, e.filename, str(e), repr(e)

    return f


def raised(cls):
    def f(x):
        try:
            raise cls(2)
        except (OSError, TypeError) as e:
            y = x * 2
            weft._dynamo.graph_break()
            return y, e.args, str(e), e

    return f


def shown(results):
    return [(type(v), v.args, vars(v), getattr(v, "errno", None)) if isinstance(v, Exception) else repr(v) for v in results]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("program", [made, raised])
def test_arguments_go_where_c_takes_them(program, cls):
    f = program(cls)
    weft.compiler.reset()
    assert shown(weft.compile(f, backend="eager")(weft.ones(1))) == shown(f(weft.ones(1)))


def keywords(cls, *args):
    def f(x):
        y = x * 2
        try:
            return y, cls(*args, k=3)
        except TypeError as e:
            return y, str(e)

    return f


REFUSED = [(InterruptedError, 1), (OSError, 2, "x"), (Bare, 1), (UnicodeTranslateError, "x"), (ImportError, 1)]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_keywords_are_refused_before_arguments_are_read(case):
    f = keywords(*case)
    weft.compiler.reset()
    assert shown(weft.compile(f, backend="eager")(weft.ones(1))) == shown(f(weft.ones(1)))
