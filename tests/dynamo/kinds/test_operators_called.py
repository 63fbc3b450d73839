"""Special methods of operators that are called by name, and operators that C does not know: what plain Python gives, errors too."""

import collections
import enum
import operator
import types

import numpy as np
import pytest

import weft

Point = collections.namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


class Text(str):
    pass


class List(list):
    pass


EXPRESSIONS = """operator.concat(x, x) | operator.concat([1], [2]) | operator.concat([1], (2,)) | operator.concat(1, 2)
operator.concat({}, {}) | operator.concat('a', 'b') | operator.iconcat([1], (2,))
operator.iconcat((1,), (2,)) | operator.iconcat(x, x) | operator.iconcat(1, 2)
operator.concat(List([1]), [2]) | operator.concat(Text('a'), 3) | Color.RED.__eq__(('a', 'b'))
Color.RED.__ne__([1]) | Color.RED == ('a', 'b') | Color.RED != (1,) | Color.name | Color.missing
type(Text('sub') % [3, None]) | type(Text('sub') % {}) | Text('sub') % (1,) | Text('sub') % 1
type(Text('') % []) | type(Text('a%%') % []) | [1].__mul__('a') | [1].__add__((2,)) | (1,).__add__([2])
[1].__rmul__(None) | (1,).__rmul__(1.5) | [1].__imul__('a') | [1].__iadd__(3)
'a'.__add__(collections.defaultdict(list)) | 'a'.__mul__([]) | 'a'.__rmul__('b') | b'a'.__add__([])
collections.deque([1]).__rmul__(int) | collections.deque([1]).__add__([2]) | List([1]).__mul__('a')
List([1]).__add__((2,)) | [1].__eq__((1,)) | (1).__add__([]) | s.__ge__(s) | s.__lt__(3) | s.__eq__(s)
s < s | {}.popitem(1) | {1: 2}.popitem(1) | {1: 2}.popitem()
collections.OrderedDict([(1, 2), (3, 4)]).popitem(False)
collections.OrderedDict([(1, 2), (3, 4)]).popitem()
Point.__init__(List([1]), 3) | Point.__init__(Point(1, 2)) | x.__eq__(np.zeros(2)).tolist() | x.__and__(np.ones(2))"""


def programs():
    return [e.strip() for e in EXPRESSIONS.replace("\n", " | ").split(" | ")]


@pytest.mark.parametrize("expression", programs())
def test_it_is_what_python_gives(expression):
    known = {"weft": weft, "np": np, "collections": collections, "operator": operator}
    scope = {**known, "Color": Color, "Text": Text, "List": List, "Point": Point}
    body = f"    y = x * 2\n    try:\n        found = {expression}\n    except Exception as e:\n        found = type(e), str(e)\n"
    exec(f"def f(x, s):\n{body}    return y, found", scope)
    f = scope["f"]
    weft.compiler.reset()
    plain, compiled = [g(weft.ones(2), types.SimpleNamespace(a=1))[1] for g in (f, weft.compile(f, backend="eager"))]
    assert type(compiled) is type(plain) and compiled == plain
