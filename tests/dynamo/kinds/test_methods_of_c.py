"""Methods written in C that are called by name: those of a base class that the object's own has another one for, those of
functions, and names of attributes that are no text."""

import enum

import pytest

import weft


class Level(enum.IntEnum):
    LOW = 1


class Plain:
    pass


class Text(str):
    pass


EXPRESSIONS = """object.__gt__(1.5, 2) | object.__eq__('a', 'b') | object.__eq__([1], [1]) | object.__eq__({}, {})
object.__lt__((1,), (1,)) | object.__eq__(x, x) | object.__repr__(5)[:12] | object.__format__(1.5, 'x')
object.__hash__('a') == hash('a') | int.__repr__(True) | int.__and__(True, True) | int.__repr__(Level.LOW)
int.__str__(Level.LOW) | int.__add__(True, 2) | len.__format__('') | len.__str__() | len.__eq__(len)
len.__ne__(max) | (1.5).__neg__(o) | (1).__invert__(o) | o.__setattr__((1, 2), 3) | o.__delattr__(4)
f.__delattr__(f) | o.__getattribute__(None) | o.__setattr__(Text('v'), 5) | setattr(o, 4, 4) | getattr(o, 4, 5)
hasattr(o, 4) | delattr(o, 4) | ValueError(1).__setattr__(4, 4) | ValueError(1).__getattribute__(4)
ValueError(1).__delattr__(4) | type.__getattribute__(Plain, 4) | type.__setattr__(Plain, 4, 4) | float[{}] | int[o]
float[x]"""


def programs():
    return [e.strip() for e in EXPRESSIONS.replace("\n", " | ").split(" | ")]


@pytest.mark.parametrize("expression", programs())
def test_it_is_what_python_gives(expression):
    scope = {"weft": weft, "Level": Level, "Plain": Plain, "Text": Text}
    body = f"    y = x * 2\n    try:\n        found = {expression}\n    except Exception as e:\n        found = type(e), str(e)\n"
    exec(f"def f(x, o):\n{body}    return y, found, vars(o)", scope)
    f = scope["f"]
    weft.compiler.reset()
    plain, compiled = f(weft.ones(2), Plain()), weft.compile(f, backend="eager")(weft.ones(2), Plain())
    assert type(compiled[1]) is type(plain[1]) and compiled[1:] == plain[1:] and compiled[0].tolist() == [2.0, 2.0]
