"""Random Python programs, compiled and plain (python.py)."""

import ast

from tests.fuzz import budget, python

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
