"""`+`, `*`, `+=` and `*=` of sequences of C and of their subclasses: who is asked, in Python's order."""

import collections
import operator

import pytest

import weft


class Repeats:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n

    def __repr__(self):
        return "Repeats"


class Reflects(Repeats):
    def __rmul__(self, other):
        return "rmul"

    def __radd__(self, other):
        return "radd"


class Refuses(Repeats):
    def __rmul__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return NotImplemented

    def __iter__(self):
        return iter((7,))


class Number(int):
    def __rmul__(self, other):
        return "number"


def kinds(base):
    class Plain(base):
        pass

    class Own(base):
        def __mul__(self, n):
            return "mul"

        def __add__(self, n):
            return "add"

    class OwnRefuses(base):
        def __mul__(self, n):
            return NotImplemented

        def __add__(self, n):
            return NotImplemented

    class InPlace(base):
        def __imul__(self, n):
            return "imul"

        def __iadd__(self, n):
            return NotImplemented

    class Both(Own):
        def __imul__(self, n):
            return NotImplemented

        def __iadd__(self, n):
            return "iadd"

    return [base, Plain, Own, OwnRefuses, InPlace, Both]


def repeat_in_place(x, s, n):
    t = s
    t *= n
    return x + 1, s, t, t is s


def join_in_place(x, s, n):
    t = s
    t += n
    return x + 1, s, t, t is s


def repeat(x, s, n):
    return x + 1, s * n


def join(x, s, n):
    return x + 1, s + n


def shown(f, s, n):
    try:
        return repr(f(weft.ones(1), s, n)[1:])
    except TypeError as e:
        return str(e)


@pytest.mark.parametrize("value", [[1], (1,), "a", b"a", collections.deque([1]), bytearray(b"a")], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("f", [repeat_in_place, join_in_place, repeat, join])
def test_who_is_asked(f, value):
    for cls in kinds(type(value)):
        for other in (Repeats(2), Reflects(2), Refuses(2), Number(2), 2, [5], (5,), "b", cls(value), 2.5):
            weft.compiler.reset()
            assert shown(weft.compile(f), cls(value), other) == shown(f, cls(value), other), (cls, other)


def test_a_program_may_replace_functions_of_operator(monkeypatch):
    def f(x, items):
        return x + sum(items), sum([[1], [2]], [])

    monkeypatch.setattr(operator, "add", lambda a, b: 1 / 0)
    assert str(weft.compile(f, fullgraph=True)(weft.ones(2), [1, 2, 3])) == str(f(weft.ones(2), [1, 2, 3]))


class Told:
    """Knows no operand, and notes that it was asked."""

    def __init__(self, log):
        self.log = log

    def __add__(self, other):
        self.log.append("add")
        return NotImplemented

    def __radd__(self, other):
        self.log.append("radd")
        return NotImplemented

    def __rmul__(self, other):
        self.log.append("rmul")
        return NotImplemented

    def __lt__(self, other):
        self.log.append("lt")
        return NotImplemented


class ToldList(list):
    log: list

    def __mul__(self, other):
        self.log.append("mul")
        return NotImplemented

    def __iadd__(self, other):
        self.log.append("iadd")
        return NotImplemented


@pytest.mark.parametrize("f", [repeat_in_place, join_in_place, repeat, join, lambda x, s, n: (x, s < n)])
@pytest.mark.parametrize("caught", [False, True])
def test_who_refuses_is_asked_once(f, caught):
    def refused(x, s, n):
        try:
            return f(x, s, n)
        except TypeError as e:
            return x, str(e)

    operands = (
        lambda told, listed: (told, told),
        lambda told, listed: (told, 1),
        lambda told, listed: (1, told),
        lambda told, listed: ([1], told),
        lambda told, listed: ("a", told),
        lambda told, listed: (listed, told),
    )
    for make in operands:
        shown_by = []
        for how in (lambda f: f, weft.compile):
            weft.compiler.reset()
            log: list = []
            listed = ToldList([1])
            listed.log = log
            shown_by.append((shown(how(refused if caught else f), *make(Told(log), listed)), log))
        assert shown_by[0] == shown_by[1], make
