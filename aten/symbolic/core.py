"""Hash-consed immutable expressions over int64, float64 and bool: nodes and the functions that make them.

Two expressions that were built by these functions and are structurally equal are the same object, so `is`, `==` and
dictionaries compare in one instruction. Integer sums and products are canonical: a sum is a mapping from monomials to
coefficients, ordered by text. Meaning is Python's: `//` rounds towards minus infinity and `%` takes the divisor's sign.
Where an evaluation would divide by zero the value of an expression is unspecified: `x // x` folds to 1.
"""

from __future__ import annotations

import threading
import weakref
from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]
from collections.abc import Callable, Iterable
from typing import Any

from aten.scalar.unpatched import math
from aten.symbolic.python_text import to_text

Number = int | float | bool

_nodes: dict[tuple, _Entry] = {}  # the expressions that exist; they do not live longer for standing here
_ints: dict[int, Expr] = {}  # small constants, for ever
_SMALL = 1 << 16
_lock = threading.RLock()
# A product of two sums is multiplied out up to this many terms; a longer one stays a product.
_MAX_EXPANDED = 8


class Expr:
    """One node. `op` names the operation, `args` are Exprs, `kind` is "int", "float" or "bool".

    Made by the functions of this module only. `==` is identity, which is structural equality here; write `eq(a, b)`
    for the expression that compares.
    """

    __slots__ = ("op", "args", "kind", "value", "terms", "offset", "_text", "_free", "_order", "_plain", "__weakref__")

    op: str
    args: tuple[Expr, ...]
    kind: str
    value: Any  # of a constant; the name of a symbol
    terms: Any  # of an integer: {monomial: coefficient}, whose sum it is ...
    offset: int  # ... plus this constant
    _text: str | None
    _free: frozenset[str] | None
    _order: str | None
    _plain: bool | None

    @property
    def is_const(self) -> bool:
        return self.op == "const"

    @property
    def name(self) -> str:
        """The name of a symbol."""
        if self.op != "sym":
            raise AttributeError(f"{self} is not a symbol")
        return self.value

    @property
    def is_plain(self) -> bool:
        """Whether it is made of symbols and constants by sums and products alone."""
        plain = self._plain
        if plain is None:
            plain = self.op in ("const", "sym") or (self.op in ("add", "mul") and all(a.is_plain for a in self.args))
            self._plain = plain
        return plain

    @property
    def free_symbols(self) -> frozenset[str]:
        """The names of the symbols it depends on."""
        free = self._free
        if free is None:
            free = frozenset().union(*(a.free_symbols for a in self.args))
            self._free = free
        return free

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = self._text = to_text(self)
        return text

    def __repr__(self) -> str:
        return f"Expr({self})"

    def __reduce__(self):
        return restored, (self.op, self.args, self.kind, self.value)

    def __bool__(self) -> bool:
        if self.op == "const":
            return bool(self.value)
        raise TypeError(f"the truth of {self} is not known: ask a ShapeEnv")

    def __add__(self, other):
        return add(self, other)

    def __radd__(self, other):
        return add(other, self)

    def __sub__(self, other):
        return sub(self, other)

    def __rsub__(self, other):
        return sub(other, self)

    def __mul__(self, other):
        return mul(self, other)

    def __rmul__(self, other):
        return mul(other, self)

    def __floordiv__(self, other):
        return floordiv(self, other)

    def __rfloordiv__(self, other):
        return floordiv(other, self)

    def __mod__(self, other):
        return mod(self, other)

    def __rmod__(self, other):
        return mod(other, self)

    def __truediv__(self, other):
        return truediv(self, other)

    def __rtruediv__(self, other):
        return truediv(other, self)

    def __pow__(self, other):
        return pow_(self, other)

    def __rpow__(self, other):
        return pow_(other, self)

    def __neg__(self):
        return mul(-1, self)


class _Entry(weakref.ref):
    """A reference to an expression that knows its key in the table."""

    __slots__ = ("key",)
    key: tuple


def _forget(entry: _Entry) -> None:
    _remove_dead_weakref(_nodes, entry.key)


def _find(key: tuple) -> Expr | None:
    entry = _nodes.get(key)
    return None if entry is None else entry()


def _keep(key: tuple, e: Expr) -> Expr:
    """`e` as the expression of that key; the one that another thread has made since, if it has."""
    with _lock:
        found = _find(key)
        if found is None:
            entry = _Entry(e, _forget)
            entry.key = key
            _nodes[key] = entry
            return e
        return found


def make(op: str, args: tuple[Expr, ...], kind: str) -> Expr:
    key = (op, args)
    e = _find(key)
    if e is None:
        e = _new(op, args, kind, None)
        if kind == "int":
            e.terms, e.offset = {e: 1}, 0
        e = _keep(key, e)
    return e


def _new(op, args, kind, value) -> Expr:
    e = Expr.__new__(Expr)
    e.op, e.args, e.kind, e.value = op, args, kind, value
    e.terms, e.offset, e._text, e._free, e._order, e._plain = None, 0, None, None, None, None
    return e


def const(value: Number) -> Expr:
    """The constant `value`: bool, int or float (NumPy's scalars count as Python's)."""
    if type(value) is int:
        found = _ints.get(value)
        if found is not None:
            return found
    if isinstance(value, bool):
        key: tuple = ("const", value, "bool")
    elif isinstance(value, int):
        key = ("const", value)
    elif isinstance(value, float):
        key = ("const", value.hex(), "float")  # 0.0 and -0.0 differ, nan equals itself
    elif hasattr(value, "item"):
        return const(value.item())
    else:
        raise TypeError(f"a constant is an int, float or bool, not {type(value).__name__}")
    e = _find(key)
    if e is None:
        kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"
        plain: Any = int(value) if kind == "int" else value  # subclasses of int, such as IntEnum
        e = _new("const", (), kind, plain)
        e._free = frozenset()
        if kind == "int":
            e.terms, e.offset = {}, plain
        e = _keep(key, e)
        if kind == "int" and -_SMALL < plain < _SMALL:
            _ints[plain] = e
    return e


def sym(name: str, kind: str | None = None) -> Expr:
    """The symbol `name`. Names say the kind: z0, z1, ... are floats, others ints unless told."""
    if kind is None:
        kind = "float" if name[0] == "z" and name[1:].isdigit() else "int"
    key = ("sym", name, kind)
    e = _find(key)
    if e is None:
        if kind not in ("int", "float", "bool"):
            raise ValueError(f"kind is int, float or bool, not {kind!r}")
        e = _new("sym", (), kind, name)
        e._text, e._free = name, frozenset((name,))
        if kind == "int":
            e.terms = {e: 1}
        e = _keep(key, e)
    return e


TRUE, FALSE, ZERO, ONE = const(True), const(False), const(0), const(1)


def as_expr(value: Expr | Number) -> Expr:
    """`value`, or the constant it stands for. Raises TypeError for anything that is not a number."""
    if type(value) is Expr:
        return value
    inner = getattr(value, "expr", None)  # a SymInt, SymFloat, SymBool
    return inner if type(inner) is Expr else const(value)


def is_const(e: Expr | Number, value: Number | None = None) -> bool:
    """Whether `e` is a constant (and that one)."""
    e = as_expr(e)
    return e.op == "const" and (value is None or e.value == value)


def restored(op: str, args: tuple[Expr, ...], kind: str, value: Number | str | None) -> Expr:
    """The expression of these parts: how one is copied and pickled."""
    if op == "const":
        return const(value)
    if op == "sym":
        return sym(value, kind)
    if kind == "int" and op in ("add", "mul"):
        return sum_(args) if op == "add" else prod_(args)
    return make(op, args, kind)


def as_int(e: Expr) -> Expr:
    """A number: 1 or 0 for a bool."""
    if e.kind == "bool":
        if e.op == "const":
            return const(int(e.value))
        return make("where", (e.args[0], ZERO, ONE) if e.op == "not" else (e, ONE, ZERO), "int")
    return e


def float_op(op: str, a: Expr, b: Expr, fn: Callable) -> Expr:
    if a.op == "const" and b.op == "const":
        return const(fn(a.value, b.value))
    return make(op, (a, b), "float")


# ------------------------------------------------------------------------------------------- sums and products


def from_terms(terms: dict[Expr, int], offset: int = 0) -> Expr:
    """The integer expression sum(coefficient * monomial) + offset."""
    if 0 in terms.values():
        terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return const(offset)
    if len(terms) == 1 and not offset:
        ((m, c),) = terms.items()
        return _scaled(m, c)
    items = sorted(terms.items(), key=_order) if len(terms) > 1 else terms.items()
    args = tuple(_scaled(m, c) for m, c in items)
    if offset:
        args += (const(offset),)
    key = ("add", args)
    e = _find(key)
    if e is None:
        e = _new("add", args, "int", None)
        e.terms, e.offset = terms, offset
        e = _keep(key, e)
    return e


def _order(item):
    e = item[0]
    key = e._order
    if key is None:
        key = e._order = str(e).lstrip("(")
    return key


def _scaled(m: Expr, c: int) -> Expr:
    if c == 1:
        return m
    factors = m.args if m.op == "mul" else (m,)
    key = ("mul", (const(c), *factors))
    e = _find(key)
    if e is None:
        e = _new("mul", key[1], "int", None)
        e.terms = {m: c}
        e = _keep(key, e)
    return e


def _product(a: Expr, b: Expr) -> Expr:
    """The monomial a * b, from monomials (no constant factors)."""
    factors = (a.args if a.op == "mul" else (a,)) + (b.args if b.op == "mul" else (b,))
    return make("mul", tuple(sorted(factors, key=str)), "int")


def _common(e: Expr) -> tuple[int, list[Expr], Expr]:
    """(k, factors, rest) with e = k * product(factors) * rest: what all terms have in common, so that i * (a + b) times another sum
    is one expression, whichever was multiplied first."""
    if len(e.terms) == 1 and not e.offset:
        ((m, c),) = e.terms.items()
        return c, [], m
    k = math.gcd(*e.terms.values(), e.offset)
    terms = {m.args if m.op == "mul" else (m,): c // k for m, c in e.terms.items()}
    (first, *others) = terms
    common = []
    for f in first:
        n = common.count(f)
        if not e.offset and all(m.count(f) > n for m in others):
            common.append(f)
    if k == 1 and not common:
        return 1, [], e
    rest, offset = {}, e.offset // k
    for m, c in terms.items():
        left = list(m)
        for f in common:
            left.remove(f)
        if left:
            rest[left[0] if len(left) == 1 else make("mul", tuple(left), "int")] = c
        else:
            offset = c
    return k, common, from_terms(rest, offset)


def add(a: Expr | Number, b: Expr | Number) -> Expr:
    """a + b"""
    a, b = as_expr(a), as_expr(b)
    if a.kind == "float" or b.kind == "float":
        return float_op("add", a, b, lambda x, y: x + y)
    a, b = as_int(a), as_int(b)
    if not a.terms:
        return from_terms(b.terms, a.offset + b.offset) if a.offset else b
    if not b.terms:
        return from_terms(a.terms, a.offset + b.offset) if b.offset else a
    terms = dict(a.terms)
    for m, c in b.terms.items():
        terms[m] = terms.get(m, 0) + c
    return join_division(terms, a.offset + b.offset)


def join_division(terms: dict[Expr, int], offset: int) -> Expr:
    """The sum, with c * (x // c) + x % c joined to x."""
    for m in list(terms):
        if m.op == "mod" and terms.get(m):
            x, c = m.args
            quotient = mul(floordiv(x, c), c)
            if len(quotient.terms) == 1 and not quotient.offset:
                ((q, qc),) = quotient.terms.items()
                k = terms[m]
                if terms.get(q) == k * qc:
                    del terms[q], terms[m]
                    for xm, xc in x.terms.items():
                        terms[xm] = terms.get(xm, 0) + k * xc
                    offset += k * x.offset
    return from_terms(terms, offset)


def sub(a: Expr | Number, b: Expr | Number) -> Expr:
    """a - b"""
    a, b = as_expr(a), as_expr(b)
    if a.kind == "float" or b.kind == "float":
        return float_op("sub", a, b, lambda x, y: x - y)
    return add(a, mul(-1, b))


def mul(a: Expr | Number, b: Expr | Number) -> Expr:
    """a * b"""
    a, b = as_expr(a), as_expr(b)
    if a.kind == "float" or b.kind == "float":
        return float_op("mul", a, b, lambda x, y: x * y)
    a, b = as_int(a), as_int(b)
    if not a.terms:
        a, b = b, a
    if not b.terms:
        k = b.offset
        if k == 1:
            return a
        return from_terms({m: c * k for m, c in a.terms.items()}, a.offset * k) if k else ZERO
    size = (len(a.terms) + bool(a.offset)) * (len(b.terms) + bool(b.offset))
    if size > _MAX_EXPANDED:
        k, factors, a = _common(a)
        d, others, b = _common(b)
        product = _product(a, b)
        for f in (*factors, *others):
            product = _product(product, f)
        return _scaled(product, k * d)
    terms: dict[Expr, int] = {}
    for m, c in a.terms.items():
        for n, d in b.terms.items():
            p = _product(m, n)
            terms[p] = terms.get(p, 0) + c * d
        if b.offset:
            terms[m] = terms.get(m, 0) + c * b.offset
    if a.offset:
        for n, d in b.terms.items():
            terms[n] = terms.get(n, 0) + a.offset * d
    return join_division(terms, a.offset * b.offset)


def sum_(items: Iterable[Expr | Number]) -> Expr:
    """The sum of `items` (0 if none)."""
    total = ZERO
    for x in items:
        total = add(total, x)
    return total


def prod_(items: Iterable[Expr | Number]) -> Expr:
    """The product of `items` (1 if none)."""
    total = ONE
    for x in items:
        total = mul(total, x)
    return total


# ------------------------------------------------------------------------------------------- division


def _divide_monomial(m: Expr, d: Expr) -> Expr | None:
    """m / d where the factors of d are among those of m, else None."""
    have = list(m.args if m.op == "mul" else (m,))
    for f in d.args if d.op == "mul" else (d,):
        if f not in have:
            return None
        have.remove(f)
    if not have:
        return ONE
    return have[0] if len(have) == 1 else make("mul", tuple(have), "int")


def split_divisible(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """(q, r) with a = q * b + r, where r holds the terms that b does not divide term by term."""
    if not b.terms:
        c = b.offset
        q = {m: k // c for m, k in a.terms.items() if k % c == 0}
        r = {m: k for m, k in a.terms.items() if k % c}
        return from_terms(q, a.offset // c), from_terms(r, a.offset % c)
    if len(b.terms) > 1 or b.offset:
        if a is b:
            return ONE, ZERO
        # A sum as divisor: what has it as an opaque factor, or is a multiple of it.
        (m, c) = next(iter(b.terms.items()))
        k, rest = divmod(a.terms.get(m, 0), c)
        if k and not rest and sub(a, mul(b, k)) is ZERO:
            return const(k), ZERO
        d, c = b, 1
    else:
        ((d, c),) = b.terms.items()
    quotient, remainder = ZERO, {}
    for m, k in a.terms.items():
        part = _divide_monomial(m, d) if k % c == 0 else None
        if part is None:
            remainder[m] = k
        else:
            quotient = add(quotient, mul(part, k // c))
    return quotient, from_terms(remainder, a.offset)


def floordiv(a: Expr | Number, b: Expr | Number) -> Expr:
    """a // b, rounded towards minus infinity. Raises ZeroDivisionError for the constant 0."""
    a, b = as_expr(a), as_expr(b)
    if a.kind == "float" or b.kind == "float":
        return float_op("floordiv", a, b, lambda x, y: x // y)
    a, b = as_int(a), as_int(b)
    if not b.terms:
        c = b.offset
        if c == 0:
            raise ZeroDivisionError(f"({a}) // 0")
        if c == 1:
            return a
        if not a.terms:
            return const(a.offset // c)
        if a.op == "floordiv" and c > 0 and is_const(a.args[1]) and a.args[1].value > 0:
            return floordiv(a.args[0], a.args[1].value * c)
        if c < 0:
            return floordiv(mul(a, -1), -c)
        if c > 1:
            q, r = split_divisible(a, b)
            if not r.terms:
                return q  # 0 <= r < c
            g = math.gcd(c, *r.terms.values())
            if g > 1:  # floor((g*A + s) / (g*B)) is A // B for 0 <= s < g
                r = from_terms({m: k // g for m, k in r.terms.items()}, r.offset // g)
                return add(q, floordiv(r, c // g))
            divided = r.op == "floordiv" and is_const(r.args[1]) and r.args[1].value > 0
            return add(q, floordiv(r, c) if divided else make("floordiv", (r, b), "int"))
    if a is ZERO:
        return ZERO
    q, r = split_divisible(a, b)
    if r is ZERO:
        return q
    return add(q, make("floordiv", (r, b), "int"))


def mod(a: Expr | Number, b: Expr | Number) -> Expr:
    """a % b, with the sign of b. Raises ZeroDivisionError for the constant 0."""
    a, b = as_expr(a), as_expr(b)
    if a.kind == "float" or b.kind == "float":
        return float_op("mod", a, b, lambda x, y: x % y)
    a, b = as_int(a), as_int(b)
    if not b.terms:
        c = b.offset
        if c == 0:
            raise ZeroDivisionError(f"({a}) % 0")
        if not a.terms:
            return const(a.offset % c)
        if c in (1, -1):
            return ZERO
        if c < 0:
            return mul(-1, mod(mul(a, -1), -c))
        r = from_terms({m: k for m, k in a.terms.items() if k % c}, a.offset % c)
        if not r.terms:
            return r
        if r.op == "mod" and r.args[1].op == "const" and r.args[1].value % c == 0:
            return mod(r.args[0], c)
        g = math.gcd(c, *r.terms.values())
        if g > 1:  # (g*A + s) % (g*B) is g * (A % B) + s for 0 <= s < g
            inner = from_terms({m: k // g for m, k in r.terms.items()}, r.offset // g)
            return add(mul(mod(inner, c // g), g), r.offset % g)
        return make("mod", (r, b), "int")
    if a is ZERO:
        return ZERO
    _, r = split_divisible(a, b)
    return r if r is ZERO else make("mod", (r, b), "int")


def truediv(a: Expr | Number, b: Expr | Number) -> Expr:
    """a / b as a float."""
    a, b = as_expr(a), as_expr(b)
    if is_const(b, 0):
        raise ZeroDivisionError(f"({a}) / 0")
    return float_op("div", a, b, lambda x, y: x / y)


def pow_(a: Expr | Number, b: Expr | Number) -> Expr:
    """a ** b; an int where `a` is one and `b` a non-negative int constant, else a float."""
    a, b = as_expr(a), as_expr(b)
    if a.kind == "float" or b.kind == "float" or (b.op == "const" and b.value < 0):
        return float_op("pow", a, b, lambda x, y: float(x) ** y)
    a, b = as_int(a), as_int(b)
    if b.op == "const":
        if a.op == "const":
            return const(a.value**b.value)
        if b.value <= 4:
            return prod_([a] * b.value)
    return make("pow", (a, b), "int")
