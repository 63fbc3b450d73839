"""What the ranges of symbols say: bounds of expressions, and simplification that uses them.

A range is (lo, hi), both inclusive; hi None or inf means unbounded. An end may also be an expression: (0, s1 - 1) says
that a loop variable stays below s1.
"""

from __future__ import annotations

from collections.abc import Mapping

from aten.scalar.unpatched import math
from aten.symbolic import nodes
from aten.symbolic.nodes import Expr, Number, as_expr, const, from_terms, rebuild, split_divisible

Interval = tuple[Number, Number]
Ranges = Mapping[str, tuple]

_ANY: Interval = (-math.inf, math.inf)
_BOOL: Interval = (0, 1)


def bounds(e: Expr | Number, ranges: Ranges, memo: dict[Expr, Interval] | None = None) -> Interval:
    """(lo, hi) that contain every value `e` takes: ints (floats for float expressions), or infinities."""
    return _bounds(as_expr(e), ranges, {} if memo is None else memo)


def non_negative(e: Expr | Number, ranges: Ranges) -> bool:
    """Whether the ranges prove e >= 0."""
    return bounds(e, ranges)[0] >= 0


def _bounds(e: Expr, ranges: Ranges, memo: dict) -> Interval:
    found = memo.get(e)
    if found is None:
        if e.op == "const":
            v = e.value
            found = _ANY if v != v else (v, v)
        elif e.op == "sym":
            memo[e] = _BOOL if e.kind == "bool" else _ANY  # a range that mentions its own symbol says nothing
            found = _of_symbol(e, ranges, memo)
        else:
            found = _RULES[e.op](e, [_bounds(a, ranges, memo) for a in e.args])
        memo[e] = found
    return found


def _of_symbol(e: Expr, ranges: Ranges, memo: dict) -> Interval:
    if e.value not in ranges:
        return _BOOL if e.kind == "bool" else _ANY
    lo, hi = ranges[e.value]
    if lo is None:
        lo = -math.inf
    elif type(lo) is Expr:
        lo = _bounds(lo, ranges, memo)[0]
    if hi is None:
        hi = math.inf
    elif type(hi) is Expr:
        hi = _bounds(hi, ranges, memo)[1]
    return lo, hi


def _times(a: Number, b: Number) -> Number:
    return 0 if a == 0 or b == 0 else a * b  # 0 * inf is 0 here: the infinity is never reached


def _product(a: Interval, b: Interval) -> Interval:
    ends = (_times(a[0], b[0]), _times(a[0], b[1]), _times(a[1], b[0]), _times(a[1], b[1]))
    return min(ends), max(ends)


def _mul(e: Expr, args: list[Interval]) -> Interval:
    out = args[0]
    for a in args[1:]:
        out = _product(out, a)
    if e.args[-1] is e.args[0] and len(args) == 2:  # a square
        return max(0, out[0]), out[1]
    return out


def _quotient(a: Number, b: Number) -> Number:
    """floor(a / b) with infinities; b is not 0."""
    if abs(a) == math.inf:
        return a if b > 0 else -a
    if abs(b) == math.inf:
        return 0 if a == 0 or (a > 0) == (b > 0) else -1
    return a // b


def _floordiv(e: Expr, args: list[Interval]) -> Interval:
    a, b = args
    if e.kind == "float":
        return _ANY
    if b[0] <= 0 <= b[1]:
        if b[0] == 0 and b[1] > 0:
            b = (1, b[1])  # division by zero has no value
        elif b[1] == 0 and b[0] < 0:
            b = (b[0], -1)
        else:
            return _ANY
    ends = [_quotient(x, y) for x in a for y in b]
    return min(ends), max(ends)


def _mod(e: Expr, args: list[Interval]) -> Interval:
    a, b = args
    if e.kind == "float":
        return _ANY
    if b[0] >= 0:
        if a[0] >= 0:
            return 0, min(a[1], b[1] - 1) if b[1] > 0 else 0
        return 0, max(b[1] - 1, 0)
    if b[1] <= 0:
        return min(b[0] + 1, 0), 0
    return b[0] + 1, b[1] - 1


def _pow(e: Expr, args: list[Interval]) -> Interval:
    (a, b), (n, m) = args
    if a >= 1 and n >= 0:
        try:
            return a**n, (b**m if m < 1000 else math.inf)
        except OverflowError:
            return 1, math.inf
    return (0, math.inf) if a >= 0 else _ANY


def _compare(e: Expr, args: list[Interval]) -> Interval:
    (a, b), (c, d) = args
    if any(x.kind == "float" for x in e.args):
        return _BOOL  # nan
    if e.op == "eq":
        if b < c or d < a:
            return 0, 0
        return (1, 1) if a == b == c == d else _BOOL
    if e.op == "lt":
        return (1, 1) if b < c else (0, 0) if a >= d else _BOOL
    return (1, 1) if b <= c else (0, 0) if a > d else _BOOL


def _where(e: Expr, args: list[Interval]) -> Interval:
    (c, d), a, b = args
    if c == d:
        return a if c else b
    return min(a[0], b[0]), max(a[1], b[1])


def _add(e: Expr, args: list[Interval]) -> Interval:
    return sum(a for a, _ in args), sum(b for _, b in args)


def _monotone(fn):
    def rule(e: Expr, args: list[Interval]) -> Interval:
        lo, hi = args[0]
        return (lo if abs(lo) == math.inf else fn(lo)), (hi if abs(hi) == math.inf else fn(hi))

    return rule


_RULES = {
    "add": _add,
    "sub": lambda e, args: (args[0][0] - args[1][1], args[0][1] - args[1][0]) if args[0] != args[1] else _ANY,
    "mul": _mul,
    "div": lambda e, args: (0.0, math.inf) if args[0][0] >= 0 and args[1][0] > 0 else _ANY,
    "floordiv": _floordiv,
    "mod": _mod,
    "pow": _pow,
    "min": lambda e, args: (min(a for a, _ in args), min(b for _, b in args)),
    "max": lambda e, args: (max(a for a, _ in args), max(b for _, b in args)),
    "eq": _compare,
    "le": _compare,
    "lt": _compare,
    "and": lambda e, args: (min(a for a, _ in args), min(b for _, b in args)),
    "or": lambda e, args: (max(a for a, _ in args), max(b for _, b in args)),
    "not": lambda e, args: (1 - args[0][1], 1 - args[0][0]),
    "where": _where,
    "float": _monotone(float),
    "int": _monotone(int),
    "floor": _monotone(math.floor),
    "signbit": lambda e, args: _BOOL,
    "sqrt": lambda e, args: (0.0, math.inf),
}


# ------------------------------------------------------------------------------------------- simplification


def simplify(e: Expr | Number, ranges: Ranges) -> Expr:
    """An equal expression, usually smaller, for symbols inside their ranges: `(4*i + j)//4` is `i` if 0 <= j < 4."""
    e = as_expr(e)
    if e.is_plain:
        return e
    memo: dict[Expr, Interval] = {}
    done: dict[Expr, Expr] = {}

    def reduce(y: Expr) -> Expr | None:
        return _reduce(y, ranges, memo) if y.op in _REDUCE else None

    def visit(x: Expr) -> Expr:
        if x.is_plain:
            return x
        out = done.get(x)
        if out is None:
            args = [visit(a) for a in x.args]
            out = x if all(a is b for a, b in zip(args, x.args)) else nodes.combine(x, args)
            if x.op in _REDUCE:  # sums and products of reduced parts have nothing more to reduce
                smaller = reduce(out)
                out = smaller if smaller is not None else rebuild(out, reduce) if out.op not in _REDUCE else out
            elif out.op == "add":
                out = _joined(out, ranges, memo)
            done[x] = out
        return out

    return visit(e)


def _joined(e: Expr, ranges: Ranges, memo: dict) -> Expr:
    """The sum `e` with `(i//a % b)*c + (i//(a*b))*b*c` joined to `(i//a)*c`: places taken apart and put together again."""
    for m, k in e.terms.items():
        factors = m.args if m.op == "mul" else (m,)
        for f in factors:
            if f.op != "mod" or f.kind != "int" or _bounds(f.args[1], ranges, memo)[0] < 0:
                continue
            (x, size), rest = f.args, list(factors)
            rest.remove(f)
            quotient = nodes.floordiv(x, size)
            if x.op == "floordiv" and _bounds(x.args[1], ranges, memo)[0] >= 0:
                quotient = nodes.floordiv(x.args[0], nodes.mul(x.args[1], size))
            above = nodes.prod_([quotient, size, *rest])
            if len(above.terms) == 1 and not above.offset:
                ((q, times),) = above.terms.items()
                if e.terms.get(q) == k * times:
                    left = from_terms({n: c for n, c in e.terms.items() if n is not m and n is not q}, e.offset)
                    out = nodes.add(left, nodes.mul(nodes.prod_([x, *rest]), k))
                    return _joined(out, ranges, memo) if out.op == "add" else out
    return e


def _reduce(e: Expr, ranges: Ranges, memo: dict) -> Expr | None:
    """`e` reduced at its root, or None to go into its arguments."""
    if e.kind != "float":
        lo, hi = _bounds(e, ranges, memo)
        if lo == hi and abs(lo) != math.inf:
            return const(bool(lo)) if e.kind == "bool" else const(int(lo))
    out = _REDUCE[e.op](e, ranges, memo) if e.kind != "float" else None
    return out if out is not None and out is not e else None


def below(r: Expr, limit: Expr, ranges: Ranges, memo: dict | None = None) -> bool:
    """Whether the ranges prove 0 <= r < limit."""
    memo = {} if memo is None else memo
    if _bounds(r, ranges, memo)[0] < 0:
        return False
    if _bounds(nodes.sub(limit, r), ranges, memo)[0] > 0:
        return True
    top = _symbolic_end(r, ranges)
    return top is not None and _bounds(nodes.sub(limit, top), ranges, memo)[0] > 0


def _symbolic_end(e: Expr, ranges: Ranges) -> Expr | None:
    """An upper bound of `e` in terms of the symbols its range ends mention, or None if no such end is known."""
    changed = False
    out = const(e.offset)
    memo: dict[Expr, Interval] = {}
    for m, c in e.terms.items():
        factors = m.args if m.op == "mul" else (m,)
        if c > 0 and (len(factors) == 1 or all(_bounds(f, ranges, memo)[0] >= 0 for f in factors)):
            ends = [ranges.get(f.value, (None, None))[1] if f.op == "sym" else None for f in factors]
            changed = changed or any(type(end) is Expr for end in ends)
            m = nodes.prod_(end if type(end) is Expr else f for f, end in zip(factors, ends))
        out = nodes.add(out, nodes.mul(m, c))
    return out if changed else None


def _splits(a: Expr, b: Expr):
    """Ways to write a = g*A + r, b = g*B: (g, A, B, r), first the one with g = b."""
    q, r = split_divisible(a, b)
    yield b, q, nodes.ONE, r
    c = b.value if b.op == "const" else math.gcd(*b.terms.values(), b.offset)
    for g in sorted({math.gcd(k, c) for k in a.terms.values()} - {1, b.value if b.op == "const" else 1}, reverse=True):
        inner = {m: k // g for m, k in a.terms.items() if k % g == 0}
        rest = {m: k for m, k in a.terms.items() if k % g}
        divisor = from_terms({m: k // g for m, k in b.terms.items()}, b.offset // g)
        yield const(g), from_terms(inner, a.offset // g), divisor, from_terms(rest, a.offset % g)


def _reduce_floordiv(e: Expr, ranges: Ranges, memo: dict) -> Expr | None:
    a, b = e.args
    if _bounds(b, ranges, memo)[0] < 0:
        return None
    for g, inner, divisor, rest in _splits(a, b):
        if rest is not a and below(rest, g, ranges, memo):
            return _again(nodes.floordiv(inner, divisor), ranges, memo)
    if below(a, b, ranges, memo):
        return nodes.ZERO
    if a.op == "floordiv" and _bounds(a.args[1], ranges, memo)[0] > 0:
        return _again(nodes.floordiv(a.args[0], nodes.mul(a.args[1], b)), ranges, memo)
    return None


def _reduce_mod(e: Expr, ranges: Ranges, memo: dict) -> Expr | None:
    a, b = e.args
    if below(a, b, ranges, memo):
        return a
    lo, hi = _bounds(a, ranges, memo)
    if b.op == "const" and b.value > 0 and lo > -math.inf and lo // b.value == hi // b.value:
        return nodes.sub(a, lo // b.value * b.value)
    if b.op != "const" and _bounds(b, ranges, memo)[0] < 0:
        return None
    for g, inner, divisor, rest in _splits(a, b):
        if rest is not a and below(rest, g, ranges, memo):
            return nodes.add(nodes.mul(_again(nodes.mod(inner, divisor), ranges, memo), g), rest)
    return None


def _again(e: Expr, ranges: Ranges, memo: dict) -> Expr:
    smaller = _reduce(e, ranges, memo) if e.op in _REDUCE else None
    return e if smaller is None else smaller


def _reduce_extreme(e: Expr, ranges: Ranges, memo: dict) -> Expr | None:
    sign = 1 if e.op == "min" else -1
    kept = list(e.args)
    for x in e.args:
        # x is never chosen if another is always at least as good
        if any(y is not x and _bounds(nodes.mul(nodes.sub(x, y), sign), ranges, memo)[0] >= 0 for y in kept):
            kept.remove(x)
    if len(kept) == len(e.args):
        return None
    return (nodes.min_ if e.op == "min" else nodes.max_)(*kept)


def _reduce_order(e: Expr, ranges: Ranges, memo: dict) -> Expr | None:
    if any(a.kind != "int" for a in e.args):
        return None
    lo, hi = _bounds(nodes.sub(e.args[1], e.args[0]), ranges, memo)
    if e.op == "eq":
        return nodes.FALSE if lo > 0 or hi < 0 else nodes.TRUE if lo == hi == 0 else None
    return nodes.TRUE if lo >= 0 else nodes.FALSE if hi < 0 else None


def _reduce_where(e: Expr, ranges: Ranges, memo: dict) -> Expr | None:
    lo, hi = _bounds(e.args[0], ranges, memo)
    return e.args[1 if lo else 2] if lo == hi else None


def _nothing(e: Expr, ranges: Ranges, memo: dict) -> None:
    return None


_REDUCE = {
    "floordiv": _reduce_floordiv,
    "mod": _reduce_mod,
    "min": _reduce_extreme,
    "max": _reduce_extreme,
    "eq": _reduce_order,
    "le": _reduce_order,
    "where": _reduce_where,
    "and": _nothing,
    "or": _nothing,
    "not": _nothing,
}
