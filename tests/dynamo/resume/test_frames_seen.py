"""What a program sees of its own frames behind a break: super(), locals(), callers, warnings, tracebacks."""

import sys
import traceback
import warnings

import pytest

import weft

x = weft.ones(3)


def outside():
    """Not traced: calls break the graph."""
    print(end="")


class Base:
    def scaled(self, x):
        return x * 3


class Derived(Base):
    def scaled(self, x):
        y = x + 1
        outside()
        return super().scaled(y)

    def kept(self, x):
        def me():
            return self

        y = x + 1
        outside()
        above = super()
        return above.scaled(y), me() is self

    def looped(self, x):
        for i in range(3):
            x = x + i
            outside()
            x = super().scaled(x)
        return x


class Refused(Base):
    """super() that finds no class in its cell, or no object."""

    def caught(self, x):
        outside()
        try:
            above = super()
        except (RuntimeError, NameError) as e:
            return x + 1, type(e), str(e), e.__context__
        return above.scaled(x)

    def without_object(self, x):
        outside()
        del self
        try:
            above = super()
        except RuntimeError as e:
            return x + 1, str(e), e.__context__
        return above.scaled(x)

    def while_handling(self, x):
        try:
            raise KeyError("first")
        except KeyError:
            outside()
            above = super()
            return above.scaled(x)


class Layer(weft.nn.Linear):
    def __init__(self, *sizes):
        outside()
        super().__init__(*sizes)

    def forward(self, x):
        outside()
        return super().forward(x)


def names(x):
    b = x + 1
    a = b * 2
    outside()
    c = a + 1
    return c, list(locals()), eval("a")


def late_names(x):
    dead = x + 1
    outside()
    y = x * 2
    outside()
    return y, sorted(locals()), "{dead.ndim}".format(**locals())


def own_frame(x):
    y = x + 1
    outside()
    frame = sys._getframe()
    return y, sorted(frame.f_locals)


def one_dict(x):
    """Up to Python 3.12 all calls of locals() give one dict."""
    first = locals()
    a = x + 1
    outside()
    first["more"] = 1
    second = vars()
    b = a + 1
    return first is second, sorted(first), "more" in locals(), b


def in_a_loop(x):
    seen = []
    for i in range(3):
        x = x + i
        outside()
        seen.append(locals())
    return [s["i"] for s in seen], x


def executed(x):
    exec("more = 3")
    y = x + 1
    return sorted(locals()), y


def unbound_cells(x):
    """Variables of a function's own that inner functions share."""
    outside()
    told = []
    if x.ndim > 1:
        never = 1
    taken = x.ndim
    inner = lambda: (never, taken)  # noqa: F821  (both are deleted below, which is what is asked)
    y = x + taken
    for attempt in range(3):
        try:
            told.append(never if attempt == 0 else taken)
            outside()
            del taken
        except NameError as e:
            told.append((type(e), str(e), e.__context__))
    try:
        del never
    except NameError as e:
        told.append((type(e), str(e)))
    never = 2
    outside()
    return y * never, told, inner is None


def variables():
    return sorted(sys._getframe(1).f_locals)


class Watch:
    """Keeps the variables of a frame, and from Python 3.13 on writes one."""

    def __enter__(self):
        self.seen = sys._getframe(1).f_locals

    def __exit__(self, *raised):
        self.seen["n"] = 5


def looked_at(x, n):
    dead = x + n
    outside()
    y = dead * 2
    return variables(), y


def looked_at_further_in(x, n):
    def inner():
        return variables(), sorted(sys._getframe(1).f_locals)

    dead = x + n
    return inner(), [inner() for _ in range(1)][0][1], dead


def written(x, n):
    y = x + n
    with Watch():
        y = y + n
        outside()
    return n, y * n


def in_a_traceback(x, n):
    def fails(x):
        y = x + n
        raise ValueError(y is None)

    try:
        return fails(x)
    except ValueError as e:
        behind = e.__traceback__.tb_next.tb_frame
        return sorted(behind.f_locals), x + 1


def who():
    return sys._getframe(1).f_code.co_name, sys._getframe(2).f_code.co_name, sys._getframe(1).f_lineno


def called(x):
    y = x + 1
    outside()
    z = y * 2
    outside()
    return who(), z


def warns(x):
    y = x + 1
    outside()
    z = y * 2
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn(z)
    return [w.lineno for w in seen]


def warn(z):
    w = z + 1
    outside()
    v = w * 2
    warnings.warn("low", stacklevel=2)
    return v


def fails_late(x):
    y = x + 1
    outside()
    for i in range(3):
        y = y * 2
        outside()
        if i == 2:
            outside()
            raise ValueError("no")
    return y


def fails_in_handler(x):
    try:
        raise KeyError("a")
    except KeyError:
        outside()
        y = x * 2
        outside()
        raise ValueError(f"in the handler, {y.ndim}")  # noqa: B904  (its context is looked at)


def caller(f):
    return f(x)


def raised(f):
    with pytest.raises(ValueError) as info:
        caller(f)
    return [(t.name, t.lineno) for t in traceback.extract_tb(info.value.__traceback__)][1:], str(info.value)


def shown(value):
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    return value.tolist() if isinstance(value, weft.Tensor) else value


SEEN = [names, late_names, own_frame, one_dict, in_a_loop, executed, unbound_cells, called, warns]


@pytest.mark.parametrize("f", SEEN, ids=lambda f: f.__name__)
def test_a_frame_is_seen_as_in_plain_python(f):
    compiled = weft.compile(f, backend="eager")
    for _ in range(2):
        assert shown(caller(compiled)) == shown(caller(f))


@pytest.mark.parametrize("name", ["scaled", "kept", "looped"])
def test_super_behind_a_break(name):
    method = getattr(Derived(), name)
    compiled = weft.compile(method, backend="eager")
    for _ in range(2):
        assert shown(compiled(x)) == shown(method(x))


def attempted(method):
    try:
        return shown(method(x))
    except (RuntimeError, NameError) as e:
        return type(e), str(e), repr(e.__context__)


@pytest.mark.parametrize("first", [False, True])  # whether the cell is empty at the first call
@pytest.mark.parametrize("name", ["caught", "without_object", "while_handling"])
def test_super_without_its_class_or_object_behind_a_break(name, first):
    method = getattr(Refused(), name)
    compiled = weft.compile(method, backend="eager")
    (cell,) = method.__func__.__closure__
    if first:
        del cell.cell_contents
    assert attempted(compiled) == attempted(method)
    if first:
        cell.cell_contents = Refused
    else:
        del cell.cell_contents
    try:
        assert attempted(compiled) == attempted(method)
    finally:
        cell.cell_contents = Refused


@pytest.mark.parametrize("f", [looked_at, looked_at_further_in, written, in_a_traceback], ids=lambda f: f.__name__)
def test_variables_of_a_frame_that_others_look_at(f):
    compiled = weft.compile(f, backend="eager")
    for n in (1, 2, 2):
        assert shown(compiled(x, n)) == shown(f(x, n))


def reads_unbound(x):
    outside()
    if x.ndim > 1:
        never = 1
    return (lambda: never), x + never


def test_a_cell_without_a_value_behind_a_break_is_a_local_one():
    compiled = weft.compile(reads_unbound, backend="eager")
    for _ in range(3):
        with pytest.raises(UnboundLocalError, match="cannot access local variable 'never'") as info:
            compiled(x)
        assert info.value.__context__ is None
    assert compiled(weft.ones(1, 1))[1].tolist() == [[2.0]]


def test_super_of_a_module_behind_a_break():
    layer = weft.compile(lambda: Layer(3, 2), backend="eager")()
    assert weft.equal(weft.compile(layer, backend="eager")(x), layer(x))


@pytest.mark.parametrize("f", [fails_late, fails_in_handler], ids=lambda f: f.__name__)
def test_a_traceback_holds_the_frame_once(f):
    compiled = weft.compile(f, backend="eager")
    for _ in range(2):
        assert raised(compiled) == raised(f)
