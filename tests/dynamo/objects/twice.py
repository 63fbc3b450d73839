"""Programs that take `C`, once the identity and once weft.compile: both runs give the same, errors and changes included."""

from weft._dynamo import reset

import weft
from tests.dynamo.same import same


def compiler(fn=None, **options):
    options.setdefault("backend", "eager")
    return weft.compile(fn, **options)


def whole(fn):
    """weft.compile in one graph, without a break."""
    return weft.compile(fn, backend="eager", fullgraph=True)


def outcome(program, C):
    try:
        return program(C)
    except Exception as e:
        return ("raised", type(e), str(e))


def check(program, C=compiler) -> None:
    reset()
    expected = outcome(program, lambda fn: fn)
    found = outcome(program, C)
    assert type(expected) is type(found), (expected, found)
    same(found, expected)


def listed(programs: list):
    """A decorator that collects programs, and their names."""

    def add(program):
        programs.append(program)
        return program

    return add
