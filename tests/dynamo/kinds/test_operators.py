"""The protocol of operators: who is asked, in which order, and Python's own words where nobody knows."""

import collections
import operator
from fractions import Fraction

import pytest

import weft
from tests.dynamo.kinds.alike import alike


class Base:
    def __add__(self, other):
        return "Base.__add__"

    def __lt__(self, other):
        return "Base.__lt__"

    def __gt__(self, other):
        return "Base.__gt__"


class OwnReflected(Base):
    def __radd__(self, other):
        return "OwnReflected.__radd__"

    def __gt__(self, other):
        return "OwnReflected.__gt__"


class Inherited(Base):
    pass


class OnlyEq:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v if isinstance(other, OnlyEq) else NotImplemented

    __hash__ = None


def test_the_right_operand_is_first_if_it_is_of_a_subclass_with_its_own_method():
    alike(lambda: (Base() + OwnReflected(), Base() + Inherited(), Base() < OwnReflected(), Base() < Inherited()), fullgraph=True)


def test_unequal_inverts_equal():
    alike(lambda a: (OnlyEq(a) != OnlyEq(1), OnlyEq(a) != 3, OnlyEq(a) == 3), (1,), (2,), fullgraph=True)


def test_in_place_falls_back():
    def f():
        a = Base()
        a += 1
        b = (1, 2)
        b += (3,)
        return a, b

    alike(f, fullgraph=True)


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.sub, operator.lt, operator.iadd, operator.and_, operator.pow])
def test_what_nobody_knows_is_refused_in_pythons_words(op):
    values = [1, 1.5, "a", b"b", None, [1], (1,), {"k": 1}, {1}, frozenset({2}), range(2), slice(1), len, int, {1: 2}.values(),
              collections.deque([1]), {}.keys(), 2j, True]  # fmt: skip

    def f(a, b, x):
        try:
            return op(a, b), x + 1
        except TypeError as e:
            return str(e), x * 2

    for a in values:
        for b in values:
            alike(f, (a, b, weft.ones(1)))


def test_a_sequence_times_a_size():
    def f(x, n):
        return [1, 2] * x.shape[0], n * (0,), "ab" * n, x.shape * 2, collections.deque([1]) * n

    alike(f, (weft.ones(2), 1), (weft.ones(3), 2), (weft.ones(4), 3))


def test_numbers_that_are_symbols():
    def f(x, n, v):
        return x * n, n << 2, n ^ 3, ~n, n & 6, n**2, v**2, divmod(n, 2), abs(v), -v, round(v, 1), n / 2, n // 2 % 2, v // 1

    alike(
        f, (weft.ones(2), 3, 1.5), (weft.ones(2), 4, 2.25), (weft.ones(2), 5, -3.5), (weft.ones(2), 6, -0.0), (weft.ones(2), 6, 0.0)
    )


class Word(str):
    pass


class Share(int):
    def __rdivmod__(self, other):
        return "shares", int(other)

    def __rfloordiv__(self, other):
        return "floor"


class OnlyRight:
    def __rdivmod__(self, other):
        return "right", other


class Wider(OnlyRight):
    def __divmod__(self, other):
        return NotImplemented

    def __rdivmod__(self, other):
        return "wider", type(other).__name__


def test_divmod_of_symbols_beside_others():
    def f(x, n, v, word):
        said = []
        pairs = (
            (word, n),
            (n, word),
            (Share(3), n),
            (n, Share(3)),
            (n, OnlyRight()),
            (v, Wider()),
            (n, v),
            (v, n),
            (n, 1j),
            (n, "a"),
        )
        for a, b in (
            *pairs,
            (n, 1j),
            (n, "a"),
            (OnlyRight(), OnlyRight()),
            (OnlyRight(), Wider()),
            (Wider(), Wider()),
            (Fraction(1, 2), n),
            (x, n),
        ):
            try:
                said.append(divmod(a, b))
            except (TypeError, ZeroDivisionError) as e:
                said.append((type(e).__name__, str(e)))
        return x + 1, said

    alike(f, *((weft.ones(2), n, v, Word("a")) for n, v in ((1, 1.5), (2, 2.5), (7, -3.25), (0, 0.0))))


def test_division_by_a_symbol_that_is_zero():
    def f(x, n, v):
        try:
            return x + 6 // n
        except ZeroDivisionError as e:
            return str(e), x, n % 1 if v else 0.0**v

    alike(f, (weft.ones(2), 3, 1.0), (weft.ones(2), 2, 2.0), (weft.ones(2), 0, 3.0))


def test_numpy_scalars_beside_tensors():
    np = pytest.importorskip("numpy")

    def f(x, a):
        return x * a, a * x, x + a, x > a, a - x

    for a in (np.float32(2), np.float64(2.5), np.int64(3), np.bool_(True)):
        alike(f, (weft.ones(3), a), fullgraph=a.dtype != bool)


@pytest.mark.parametrize("value", [3, 2.5, True, "a", b"", None, 1j, ..., (1,), collections.OrderedDict(a=1)], ids=repr)
def test_methods_of_a_base_class_are_not_those_that_override_them(value):
    def of_object(x, v):
        shown = object.__repr__(v).split(" at ")[0]
        return x + 1, shown, object.__lt__(v, 1), object.__sizeof__(v), object.__str__(v), object.__format__(v, "")

    alike(of_object, (weft.ones(2), value))


def test_methods_of_a_base_class_of_constants_are_called():
    def f(x):
        return x + 1, int.__repr__(True), int.__and__(True, True), int.__add__(True, 2), object.__eq__(1, 2)

    alike(f, (weft.ones(2),))
