"""Objects that can be called, or are modules, are true by what their class says: it may gain methods, and be another one."""

import datetime
import decimal
import functools
import types

import pytest

import weft
from tests.dynamo.objects.twice import check

METHODS = {
    "__bool__": lambda self: False,
    "__len__": lambda self: 0,
    "__str__": lambda self: "other",
    "__repr__": lambda self: "another",
    "__eq__": lambda self, other: True,
    "__call__": lambda self, x: x - 1,
}
USES = {
    "truth": lambda x, o: x * 2 if o else x * 3,
    "not": lambda x, o: (x * 2, not o, bool(o)),
    "text": lambda x, o: (x * 2, str(o)[:4], f"{[o]}"[:4]),
    "equal": lambda x, o: (x * 2, o == 3, o in [3]),
    "class": lambda x, o: (x * 2, type(o).__name__, callable(o)),
    "called": lambda x, o: o(x),
}


def below(cls, *args):
    def made():
        return type("Below", (cls,), {"__call__": lambda self, x: x + 1})(*args)

    return made


def marked():
    return weft.compiler.allow_in_graph(type("Marked", (), {"__call__": lambda self, x: x + 1})())


MADE = {
    "false": below(datetime.timedelta, 0),
    "number": below(decimal.Decimal, 1),
    "partial": below(functools.partial, print),
    "marked": marked,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", MADE)
def test_callables_ask_their_class(made, use):
    def program(C):
        o, x = MADE[made](), weft.arange(4.0)
        c = C(lambda x: USES[use](x, o))
        seen = [c(x)]
        for name, method in METHODS.items():
            old = type(o)
            o.__class__ = type("Other", (old,), {name: method})
            seen.append(c(x))
            o.__class__ = old
            seen.append(c(x))
        for name, method in METHODS.items():
            setattr(type(o), name, method)
            seen.append(c(x))
        return seen

    check(program)


def test_modules_ask_their_class():
    def program(C):
        cls = type("Module", (types.ModuleType,), {})
        m, x = cls("m"), weft.arange(4.0)
        c = C(lambda x: x * 2 if m else x * 3)
        seen = [c(x)]
        cls.__bool__ = lambda self: False
        return [*seen, c(x)]

    check(program)
