"""Random Python programs, compiled and plain (python.py)."""

import ast
import sys

import numpy as np

from tests.fuzz import budget, python, seen

BROKEN = """
class C0:
    def __init__(self, v=1):
        self.v = v
    def __len__(self):
        return 2

OBJECTS = [C0(2), C0(3)]

def f(x, n, s, xs, d):
    out = []
    for i in range(3):
        try:
            out.append(n * i)
            xs.append(len(OBJECTS[0]))
        except Exception as e:
            out.append(str(e))
    d["a"] = s
    return x, out
"""


def forgetful(function):
    """A compiler that loses what is stored in dicts."""
    return lambda x, n, s, xs, d: function(x, n, s, xs, dict(d))


def test_a_difference_is_found_and_reduced():
    assert python.differs(BROKEN, compiled=lambda f: f) is None
    found = python.differs(BROKEN, compiled=forgetful)
    assert found is not None
    small = python.reduced(BROKEN, lambda t: python.valid(t) and python.differs(t, compiled=forgetful) is not None)
    f = next(n for n in ast.parse(small).body if isinstance(n, ast.FunctionDef))
    assert [ast.unparse(line) for line in f.body] == ["d['a'] = s"]


def test_programs_can_be_run():
    assert sum(python.valid(python.Program(seed).text) for seed in range(40)) > 30


def test_random_programs():
    assert budget.differences("python", 30, 60) == ""


ENDS_LATE = """
OBJECTS = [1, 2]

def started(out):
    return counting(3, out)

def f(x, n, s, xs, d):
    out = []
    for i in range(2):
        note(i)
        out.append(i)
        g = started(out)
        out.append(g.send(None))
    d["a"] = s
    return x + 1, out
"""


def test_the_end_of_a_generator_that_a_turn_of_a_loop_made_is_argued():
    assert python.differs(ENDS_LATE) is not None and python.argued(ENDS_LATE)
    assert not python.argued(ENDS_LATE, compiled=forgetful)


HELD_BY_A_CIRCLE = """
OBJECTS = [1, 2]

def f(x, n, s, xs, d):
    out = []
    try:
        n["a"] += 1
    except TypeError as e:
        out.append(locals().get("n"))
        asked = asking(out)
        out.append(next(asked))
    d["a"] = s
    return x + 1, out
"""


def test_what_ends_late_because_a_circle_of_locals_holds_it_is_argued():
    assert (python.differs(HELD_BY_A_CIRCLE) is not None) == (sys.version_info < (3, 13))
    assert python.differs(HELD_BY_A_CIRCLE, collect=True) is None and python.argued(HELD_BY_A_CIRCLE)
    assert not python.argued(HELD_BY_A_CIRCLE, compiled=forgetful)


HELD_BY_A_TRACEBACK = """
ERROR = KeyError()
OBJECTS = [1, 2]

def f(x, n, s, xs, d):
    out = []
    try:
        asked = asking(out)
        out.append(next(asked))
        raise ERROR
    except KeyError as e:
        out.append(repr(e))
    d["a"] = s
    return x + 1, out
"""


def test_what_ends_late_because_a_traceback_holds_it_is_argued():
    assert python.differs(HELD_BY_A_TRACEBACK) is not None and python.argued(HELD_BY_A_TRACEBACK)
    assert not python.argued(HELD_BY_A_TRACEBACK, compiled=forgetful)


def test_which_of_equal_numbers_it_is_is_not_seen_and_which_of_equal_objects_is():
    number, other = np.float32(3), np.float32(3)
    assert seen.seen([number, number]) == seen.seen([number, other])
    own = type("Own", (np.float32,), {})(3)
    assert seen.seen([own, own]) != seen.seen([own, type(own)(3)])
    assert seen.seen([[number]] * 2) != seen.seen([[number], [number]])
