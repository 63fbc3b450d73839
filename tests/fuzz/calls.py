"""Calls of Python's own functions and methods with arguments of every kind: compiled gives what plain Python gives, errors included.

A program is some lines, each of which writes down what one call gives; it is called several times, with other arguments.

python -m tests.fuzz.calls --seconds 3600 --seed 0     seeds 0, 1, 2 … until the time is over
python -m tests.fuzz.calls --only 1234                 one seed: the line that differs
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import linecache
import math
import operator
import random
import sys
import types
import warnings
from typing import Any

import weft
from tests.fuzz import drive, seen

PRELUDE = """
import builtins, collections, copy, decimal, enum, fractions, functools, itertools, math, operator, string, types
import numpy as np
import weft

class Int(int): pass
class Str(str): pass
class List(list): pass
class Dict(dict): pass
class Tuple(tuple): pass
class Float(float): pass
class Color(enum.Enum):
    RED = 1
    BLUE = "b"
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3
class Flags(enum.Flag):
    A = 1
    B = 2
class Index:
    def __index__(self): return 2
class Sized:
    def __len__(self): return 2
    def __getitem__(self, i):
        if i > 2: raise IndexError(i)
        return i * 2
class Missing(dict):
    def __missing__(self, key): return ("missing", key)
class Plain:
    k = 3
    def __init__(self, v=1): self.v = v
    def m(self, *a, **k): return a, k
class Equal:
    def __init__(self, v): self.v = v
    def __eq__(self, o): return self.v == getattr(o, "v", o)
    def __hash__(self): return hash(self.v)
    def __lt__(self, o): return self.v < getattr(o, "v", o)
Point = collections.namedtuple("Point", "x y", defaults=(7,))
def twice(v): return v, v
def pairs(n=2):
    for i in range(n):
        yield i, str(i)
def failing(*a): raise ValueError("failing", len(a))
"""
NUMBERS = "0 1 -1 2 3 7 -5 255 True False 0.0 -0.0 1.5 -2.5 1e300 nan inf 1j (2-1j) Int(4) Float(2.5) Level.HIGH"
VALUES = [
    *NUMBERS.replace("nan", "float('nan')").replace(" inf", " float('-inf')").split(),
    "None", "...", "NotImplemented", "''", "'a'", "'ab,c d'", "'{} {0}'", "'%s %d'", "'12'", "' x '", "'ß'", "Str('sub')", "b''", "b'ab c'",
    "bytearray(b'xyz')", "memoryview(b'abc')", "[]", "[1, 2]", "[3, 'a', None]", "['b', 'a', 'c']", "[[1], [2, 3]]", "[2, 1, 3, 1]", "[(1, 'x'), (2, 'y')]",
    "List([1, 2])", "()", "(1,)", "(1, 2, 2)", "('a', 'b')", "Tuple((1, 2))", "Point(1)", "Point(2, [1])", "{}", "{'a': 1, 'b': 2}", "{1: 'x', 2: [3]}",
    "Dict(a=1)", "Missing(a=1)", "collections.OrderedDict(a=1, b=2)", "collections.defaultdict(list, a=[1])", "collections.Counter('abca')",
    "collections.deque([1, 2, 3], 4)", "collections.ChainMap({'a': 1}, {'b': 2})", "types.MappingProxyType({'a': 1})", "types.SimpleNamespace(a=1)",
    "set()", "{1, 2}", "{'a'}", "frozenset([1, 3])", "range(3)", "range(5, 0, -2)", "range(0)", "slice(1, None)", "slice(None, None, -1)", "iter([1, 2])", "iter('ab')",
    "pairs()", "(i for i in (1, 0))", "zip('ab', [1, 2])", "enumerate('ab')", "map(str, [1, 2])", "reversed([1, 2])", "Color.RED", "Flags.A", "Flags.A | Flags.B",
    "Index()", "Sized()", "Plain()", "Equal(1)", "Equal('a')", "int", "str", "list", "dict", "float", "tuple", "set", "type", "object", "bool", "Plain", "Color", "Point", "ValueError",
    "ValueError('e', 1)", "KeyError('k')", "len", "twice", "pairs", "failing", "Plain().m", "'ab'.upper", "operator.add", "operator.itemgetter(0)", "functools.partial(twice, 1)",
    "lambda *a: a", "lambda a: a", "lambda a, b: (a, b)", "lambda a: a % 2", "abs", "weft.arange(3.0)", "weft.tensor(2)", "weft.tensor(True)", "weft.float32", "weft.Size([2, 3])",
    "np.arange(3)", "np.float32(1.5)", "np.int64(2)", "np.bool_(True)", "np.array(2.0)", "np.float64(0.5)", "decimal.Decimal('1.5')", "fractions.Fraction(1, 3)",
]  # fmt: skip
SKIPPED = set("""exit quit input open breakpoint help license credits copyright exec eval compile print memoryview globals locals vars dir id hash
__build_class__ __import__ __loader__ __spec__ __debug__ __doc__ __name__ __package__ count cycle repeat tee""".split())  # fmt: skip
NO_METHODS = set("""__sizeof__ __dir__ __hash__ __subclasshook__ __init_subclass__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __class__ __doc__ __new__
__weakref__ __module__ __dict__ __getattribute__ __del__ __subclasses__ mro __prepare__ __buffer__ __release_buffer__ __text_signature__""".split())  # fmt: skip
MODULES = {
    "": builtins, "math.": math, "operator.": operator, "itertools.": itertools, "functools.": functools, "collections.": collections,
}  # fmt: skip
NO_FUNCTIONS = {"functools.": {"cached_property", "singledispatchmethod", "total_ordering", "GenericAlias", "namedtuple", "recursive_repr", "get_cache_token"}}
IMMUTABLE = {"float32", "float64", "int64", "bool", "Decimal", "Fraction", "range", "slice", "Size", "builtin_function_or_method", "method", "method-wrapper", "tuple", "frozenset", "function", "class"}
KEYWORDS = "key default reverse start strict sep maxsplit end initial step base k v a b r".split()
OPERATORS = "+ - * / // % @ & | ^ << >> < <= > >= == != is in and or".split() + ["not in", "is not"]


def functions() -> list[str]:
    found = []
    for prefix, module in MODULES.items():
        for name, value in vars(module).items():
            if callable(value) and name not in SKIPPED and name not in NO_FUNCTIONS.get(prefix, ()) and not name.startswith("_"):
                found.append(prefix + name)
    return found


FUNCTIONS = functions()


CODE = compile(PRELUDE, "<prelude>", "exec")


def space() -> dict[str, Any]:
    """The names of a program, anew for each run: what one does to a class (`functools.update_wrapper` of two members of an
    enumeration) the next would see."""
    sys.modules["called"] = types.ModuleType("called")
    made = vars(sys.modules["called"])
    exec(CODE, made)
    return made


@functools.cache
def methods_of(text: str) -> list[str]:
    value = eval(text, space())
    if isinstance(value, weft.Tensor) or type(value).__module__ == "numpy":  # (the other fuzzers')
        return ["__len__", "__iter__", "__bool__", "__eq__", "__getitem__", "__add__", "__contains__"]
    return [n for n in dir(value) if n not in NO_METHODS and callable(getattr(value, n, None))] or ["__eq__"]


class Program:
    """The text of `f(a, b, c, out)`, and the arguments of its calls."""

    def __init__(self, seed: int):
        self.r = r = random.Random(seed)
        self.kinds = [r.choice(VALUES) for _ in range(3)]
        self.lines = [self.line() for _ in range(r.choice([3, 6, 10]))]
        others = [[r.choice(VALUES) if r.random() < 0.4 else k for k in self.kinds] for _ in range(2)]
        self.calls = [self.kinds, *others]

    def line(self) -> str:
        expression = self.expression()
        if self.r.random() < 0.1:
            expression = f"list({expression})"
        return f"    try:\n        out.append({expression})\n    except Exception as e:\n        out.append((type(e).__name__, str(e)))\n"

    def value(self) -> tuple[str, str]:
        """A text, and that of a value of the kind that it has."""
        k = self.r.random()
        if k < 0.65:
            i = self.r.randrange(3)
            return "abc"[i], self.kinds[i]
        text = self.r.choice(VALUES)
        return (f"({text})" if text.startswith("lambda") else text), text

    def arguments(self, most: int) -> str:
        r = self.r
        given = [self.value()[0] for _ in range(r.choice([0, 1, 1, 1, 2, 2, 3][: most + 4]))]
        if r.random() < 0.08 and given:
            given[-1] = f"*{given[-1]}"
        if r.random() < 0.15:
            given.append(f"{r.choice(KEYWORDS)}={self.value()[0]}")
        if r.random() < 0.03:
            given.append(f"**{self.value()[0]}")
        return ", ".join(given)

    def expression(self) -> str:
        r = self.r
        form = r.random()
        text, like = self.value()
        operand = f"({text})" if text[0].isdigit() or text[0] == "-" else text
        if form < 0.35:
            return f"{r.choice(FUNCTIONS)}({self.arguments(3)})"
        if form < 0.70:
            return f"{operand}.{r.choice(methods_of(like))}({self.arguments(3)})"
        if form < 0.82:
            return f"{operand} {r.choice(OPERATORS)} {self.value()[0]}"
        if form < 0.88:
            return f"{operand}[{self.value()[0]}]"
        if form < 0.92:
            return f"type({text}).{r.choice(methods_of(like))}({self.arguments(3)})"
        return r.choice([f"[v for v in {text}]", f"{text} if {self.value()[0]} else 0", f"f'{{{self.value()[0] if text[0] in chr(39) + chr(34) else 'a'}!r:>9}}'", f"'%s|%r' % ({text},)",
                         f"{{**{operand}}}", f"[*{operand}]", f"{operand}[{self.value()[0]}:{self.value()[0]}]", f"not {operand}", f"-{operand}", f"{operand}({self.arguments(2)})",
                         f"{operand}.{r.choice(['real', 'v', 'name', 'a', '__class__.__name__', 'start', 'x', '__name__', 'maxlen', 'args'])}"])  # fmt: skip


def text_of(lines: list[str]) -> str:
    return "def f(a, b, c, out):\n    out.append(weft.arange(2.0) * 2)\n" + "".join(lines)  # without an op, all of it is left to Python


def run(program: tuple[str, list[list[str]]], how) -> list:
    """What can be seen of each call."""
    text, calls = program
    names, name = space(), "<calls>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    f, told = how(names["f"]), []
    for call in calls:
        out: list = []
        given = [eval(v, names) for v in call]
        told.append([seen.attempt(f, *given, out), seen.seen(out)])
    return told


def compiled(fn):
    weft.compiler.reset()
    return weft.compile(fn, backend="eager")


def differs(program: tuple[str, list[list[str]]]) -> tuple | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with drive.alarm(5):
                want = run(program, lambda f: f)
        except (drive.OutOfTime, MemoryError, RecursionError, SyntaxError):
            return None
        try:
            with drive.alarm(30):
                got = run(program, compiled)
        except drive.OutOfTime:
            return "does not end", want, None
        finally:
            weft.compiler.reset()
    return parted(want, got)


def parted(a: Any, b: Any) -> tuple | None:
    """The smallest parts of two nested lists that differ. Which of two equal immutable objects it is does not matter."""
    if a == b:
        return None
    if letters(a) is not None and letters(b) is not None:  # of a repr, which may hold an address
        a, b = letters(a), letters(b)
    if isinstance(a, list) and isinstance(b, list):
        if sorted(str(v[0]) for v in (a, b) if v) == ["KeyWrapper", "function"]:  # what functools.cmp_to_key gives
            return None
        if "again" in (a[:1] + b[:1])[:2] and {"again", *IMMUTABLE} >= {str(v[0]) for v in (a, b)}:
            return None
        if len(a) == len(b):
            return next((found for x, y in zip(a, b) if (found := parted(x, y)) is not None), None)
    if isinstance(a, str) and isinstance(b, str) and seen.ADDRESS.sub("", a) == seen.ADDRESS.sub("", b):
        return None
    return "", a, b


def letters(value: Any) -> str | None:
    """The text whose letters a list holds; None for another list."""
    if isinstance(value, list) and value and all(isinstance(v, list) and v[:1] == ["str"] and len(v) == 2 for v in value):
        return "".join(v[1][1:-1] for v in value)
    return None


def kind(found: tuple) -> list:
    """What two differences of one cause have in common."""
    return [v[:2] if isinstance(v, list) else v[:12] if isinstance(v, str) else v for v in found[1:]]


def check(seed: int) -> tuple[str, str] | str | None:
    program = Program(seed)
    lines, calls = program.lines, program.calls
    try:
        compile(text_of(lines), "<calls>", "exec")
    except SyntaxError:
        return drive.VOID
    found = differs((text_of(lines), calls))
    if found is None:
        return None
    for few in ([c] for c in program.calls):
        if (of_few := differs((text_of(lines), few))) is not None:
            found, calls = of_few, few
            break
    for line in lines:
        fewer = [other for other in lines if other is not line]
        if (of_fewer := differs((text_of(fewer), calls))) is not None and (kind(of_fewer) == kind(found) or of_fewer[1:] == found[1:]):
            found, lines = of_fewer, fewer
    _, want, got = found
    text = "".join(line.split("out.append")[1].split("\n")[0] + "\n" for line in lines)
    return f"{str(want)[:60]} / {str(got)[:60]}", f"{calls}\n{text}  plain    {str(want)[:600]}\n  compiled {str(got)[:600]}"


if __name__ == "__main__":
    sys.exit(drive.main("tests.fuzz.calls", check))
