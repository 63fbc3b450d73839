"""Functions with graph breaks in every place, for test_resume. `note` is left to Python: each call of it is a break."""

# ruff: noqa: B007, B023, B904, E731, SIM117, UP031, B020
from __future__ import annotations

import contextlib
import sys

import weft

LOG: list = []


@weft.compiler.disable
def note(*what):
    LOG.append(what)
    return len(what)


@weft.compiler.disable
def fail(cls, *what):
    LOG.append(what)
    raise cls(*what)


class Manager:
    def __init__(self, name, swallow=False):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        note("enter", self.name)
        return self

    def __exit__(self, cls, value, trace):
        note("exit", self.name, cls and cls.__name__)
        return self.swallow


def straight(x):
    y = x * 2
    note("a")
    z = y + 1
    note("b", 3)
    return z * y


def value_used(x):
    n = note(1, 2, 3)
    return x * n


def as_argument(x):
    return (x + 1) * note(1, 2) + (x * note(1)) + note()


def nested_calls(x):
    return weft.stack([x + note(1), weft.cat([x * note(1, 2), x[:note(1)]])[:3]])


def branch(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    return y * 3


def branch_both(x):
    if (x * 2).sum() > 0 and not (x.max() > 100):
        return x + 1
    return x - 1


def ternary(x):
    return x * (2 if x.sum() > 0 else 3)


def for_range(x, n=3):
    for i in range(n):
        x = x * 2
        note("step", i)
        x = x + 1
    return x


def for_break_continue(x):
    out = []
    for i in range(6):
        if i == 1:
            note("skip")
            continue
        x = x + i
        if i == 4:
            note("stop")
            break
        out.append(x.sum())
    else:
        note("never")
    return x, len(out)


def for_else(x):
    for i in range(2):
        note(i)
        x = x + 1
    else:
        note("else")
        x = x * 2
    return x


def for_return(x):
    for i in range(5):
        x = x * 2
        if note("at", i) and i == 2:
            return x + 1
    return x


def while_loop(x):
    n = 0
    while n < 4:
        x = x + n
        note("w", n)
        n += 1
    return x


def while_tensor(x):
    n = 0
    while x.sum() < 40:
        x = x * 2
        n += 1
    return x, n


def while_true(x):
    n = 0
    while True:
        n = n + 1
        x = x + 1
        if note(n) and n > 3:
            break
    return x * n


def nested_loops(x):
    for i in range(2):
        for j in range(3):
            x = x + 1
            note(i, j)
            if j == 1:
                continue
            x = x * 2
        note("row", i)
        x = x - 1
    return x


def nested_loops_break(x):
    total = 0
    for i in range(3):
        k = 0
        while True:
            k += 1
            x = x + k
            note(i, k)
            if k > i:
                break
        total += k
    return x * total


def loop_variable_unset(x):
    last = None
    for i in range(3):
        note(i)
        if i == 1:
            found = x * 2
        last = i
    return found + last


def deleted_in_loop(x):
    for i in range(3):
        t = x + i
        note(i)
        x = t * 2
        del t
    return x


def with_manager(x):
    with Manager("m") as m:
        x = x * 2
        note(m.name)
        x = x + 1
    return x * 3


def with_nested(x):
    with Manager("a"), Manager("b", swallow=True):
        x = x + 1
        with Manager("c"):
            note("in")
            x = x * 2
            fail(ValueError, "inside")
            x = x * 100
        x = x * 1000
    note("after")
    return x + 5


def with_no_grad(x):
    with weft.no_grad():
        y = x * 2
        note("quiet")
        z = y * 3
    return z, weft.is_grad_enabled()


def with_suppress(x):
    with contextlib.suppress(KeyError):
        x = x + 1
        fail(KeyError, "gone")
    return x * 2


def with_in_loop(x):
    for i in range(3):
        with Manager(i):
            x = x + i
            note("body", i)
            if i == 1:
                continue
            x = x * 2
    return x


def try_except(x):
    try:
        x = x * 2
        fail(ValueError, "v")
        x = x * 100
    except ValueError as e:
        x = x + len(str(e))
    return x * 3


def try_in_function(x):
    try:
        x = x * 2
        n = note(1)
        x = x + n
        y = [1, 2][n + 5]
    except IndexError:
        x = x + 10
        y = 0
    else:
        x = x + 1000
    return x + y


def try_finally(x):
    try:
        x = x + 1
        note("t")
        x = x * 2
    finally:
        note("f")
        x = x + 3
    return x


def finally_return(x):
    for i in range(3):
        try:
            x = x + i
            if note(i) and i == 1:
                return x * 2
        finally:
            note("cleanup", i)
    return x


def inside_except(x):
    try:
        raise KeyError("k")
    except KeyError as e:
        x = x + 1
        note("handling", str(e))
        x = x * 2
    return x, sys.exc_info()[0]


def inside_except_nested(x):
    try:
        fail(KeyError, "k")
    except KeyError:
        try:
            fail(ValueError, "v")
        except ValueError as e:
            note(type(e.__context__).__name__)
            x = x * 2
        note("outer")
        x = x + 1
    return x


def reraise(x):
    try:
        try:
            note("a")
            fail(KeyError, "k")
        except KeyError:
            note("b")
            raise
    except LookupError as e:
        x = x + len(e.args)
    return x * 2


def raise_from(x):
    try:
        try:
            fail(KeyError, "k")
        except KeyError as e:
            note("mid")
            raise ValueError("v") from e
    except ValueError as e:
        note(type(e.__cause__).__name__, type(e.__context__).__name__)
        x = x + 1
    return x


def escapes(x):
    x = x + 1
    note("before")
    y = x * 2
    fail(RuntimeError, "out", 3)
    return y


def except_in_loop(x):
    for i in range(4):
        try:
            x = x + 1
            if note(i) and i % 2:
                fail(ValueError, i)
            x = x * 2
        except ValueError as e:
            x = x + e.args[0]
    return x


def unpacking(x):
    a, (b, *c), d = x, (note(1), note(1, 2), note(1, 2, 3)), x * 2
    return a + b + sum(c) + d


def closure(x):
    scale = 2

    def times(v):
        return v * scale

    note("c")
    scale = 3
    y = times(x)
    note("d")
    scale = 5
    return y + times(x)


def closure_of_argument(x, k=2):
    def f(v):
        nonlocal k
        k += 1
        return v * k

    y = f(x)
    note(k)
    return y + f(x) + k, f


def free_variable_loop(x):
    fs = []
    total = 0

    def add(v):
        nonlocal total
        total += v
        return total

    for i in range(3):
        add(i)
        note(total)
        x = x + total
        fs.append(lambda i=i: i)
    return x, [f() for f in fs], total


def comprehension(x):
    return [x * note(i) for i in range(3)]


def comprehension_names(x):
    i = 10
    rows = [(x + i) * note(i) for i in range(2)]
    pairs = {k: note(k) for k in range(3)}
    return rows, pairs, i


def dictionary(x):
    return {"a": x + 1, "n": note("d"), "b": x * 2}


def method_call(x):
    out = []
    out.append(x * note(1, 2))
    text = "%d-%s" % (note(1), "z".join(["a", "b"]))
    return out, text, f"{note(1, 2, 3):03d}!"


def keyword_call(x):
    def inner(a, *, b, c=4):
        return a * b + c

    return inner(x, b=note(1, 2), c=note(1)) + inner(b=note(1), a=x)


def star_call(x):
    def inner(*args, **kwargs):
        return args[0] * args[1] + kwargs["k"]

    return inner(*[x, note(1, 2)], **{"k": note(1)})


def walrus(x):
    if (n := note(1, 2)) > 1:
        x = x * n
    return x + n


def assertion(x):
    y = x + 1
    assert note(1) == 1, "one"
    return y


def matching(x):
    match (note(1, 2), x.ndim):
        case (1, _):
            return x
        case (2, n) if n == 1:
            return x * 2
        case _:
            return x * 3


def comparisons(x):
    return x + (0 < note(1) < note(1, 2) < 3) + (note(1) == 1) + (1 in [note(1)]) + (note() is None)


def subscripts(x):
    d = {1: x, 2: x * 2}
    d[note(1, 2)] = x * 5
    del d[note(1)]
    return d[note(1, 2)], x[note(1):]


def many_locals(x):
    a, b, c, d, e, f, g, h = range(8)
    y = x + a + b
    note("many")
    z = y + c + d + e
    note("more")
    return z + f + g + h + a


def star_arguments(x, *rest, key=1, **more):
    y = x * key
    note(len(rest))
    return y + rest[0] + more["z"]


def recursive(x, n=3):
    if n == 0:
        return x
    note(n)
    return recursive(x + n, n - 1) * 2


def helper(v):
    v = v * 2
    note("inside a helper")
    return v + 1


def called(x):
    y = helper(x + 1)
    return y * helper(y)


def generator_argument(x):
    return sum(x.sum() * note(i) for i in range(3))


def lambda_break(x):
    f = lambda v: v * note(1, 2)
    return f(x) + 1


def import_inside(x):
    import math

    note("i")
    return x * math.floor(2.5)


def global_state(x):
    global COUNT
    COUNT = COUNT + 1
    y = x * 2
    note(COUNT)
    COUNT = COUNT + 1
    return y


COUNT = 0
FUNCTIONS = [f for n, f in list(globals().items()) if callable(f) and getattr(f, "__module__", "") == __name__
             and n not in ("note", "fail", "Manager", "helper")]  # fmt: skip
