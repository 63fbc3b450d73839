"""What is known about the symbols of one graph: hints, ranges, and the guards that were recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.errors import DataDependentError
from aten.records import record
from aten.scalar.unpatched import math
from aten.symbolic import nodes
from aten.symbolic.evaluate import evaluate
from aten.symbolic.nodes import Expr, Number, as_expr, const
from aten.symbolic.ranges import bounds, simplify
from aten.symbolic.symint import wrap


@record(frozen=True)
class ShapeGuard:
    """`expr` holds for every call this graph answers; `user_line` is the line of the user's that needed it."""

    expr: Expr
    user_line: Any = None

    def __str__(self) -> str:
        return str(self.expr)


class ShapeEnv:
    """Symbols with their hints and ranges, and the facts assumed about them.

    `user_line`, when set, is called at each new guard to name the user's line that needed it.
    """

    def __init__(self, user_line: Callable[[], Any] | None = None):
        self.hints: dict[str, Number] = {}
        self.ranges: dict[str, tuple[Number, Number]] = {}
        self.guards: list[ShapeGuard] = []
        self.user_line = user_line
        self._facts: set[Expr] = set()
        self._orders: list[Expr] = []  # for each fact `a <= b` the sum a - b
        self._known: dict[Expr, Expr] = {}  # replacements that follow from equalities
        self._memo: dict[Expr, Expr] = {}
        self._unbacked = 0
        self.promise: Any = None  # fn(Expr), answers for numbers that are not known yet; `.special(Expr)` if they are not 0 or 1

    # ------------------------------------------------------------------------------------ symbols

    def symbol(self, name: str, hint: Number, lo: Number = 0, hi: Number | None = None, kind: str = "int"):
        """A new size called `name` with value `hint` in this call, within [lo, hi]."""
        if name in self.ranges:
            raise ValueError(f"the symbol {name} exists")
        self.hints[name] = hint
        if kind == "float":
            lo = -math.inf
        self.ranges[name] = (lo, math.inf if hi is None else hi)
        return wrap(nodes.sym(name, kind), self)

    def declare(self, name: str, kind: str = "int"):
        """The size called `name`, made without a hint if it does not exist (for graphs read back from text)."""
        self.ranges.setdefault(name, (0 if kind == "int" else -math.inf, math.inf))
        return wrap(nodes.sym(name, kind), self)

    def unbacked(self, lo: Number = 0, hi: int | None = None, kind: str = "int"):
        """A new number without a hint, known only to lie within [lo, hi]; a size if nothing else is said."""
        name = f"u{self._unbacked}"
        self._unbacked += 1
        self.ranges[name] = (-math.inf if kind == "float" else lo, math.inf if hi is None else hi)
        return wrap(nodes.sym(name, kind), self)

    def hint(self, e: Expr | Number) -> Number | None:
        """The value of `e` in this call, or None where it depends on an unbacked symbol."""
        e = as_expr(e)
        if e.op == "const":
            return e.value
        return evaluate(e, self.hints) if self.hints.keys() >= e.free_symbols else None

    # ------------------------------------------------------------------------------------ knowledge

    def simplify(self, e: Expr | Number) -> Expr:
        """`e` rewritten with everything that ranges and guards say."""
        e = as_expr(e)
        done = self._memo.get(e)
        if done is None:
            done = nodes.rebuild(e, self._known.get) if self._known else e
            done = simplify(done, self.ranges)
            if self._facts:
                done = self._undo_division(done)
            self._memo[e] = done
        return done

    def _undo_division(self, e: Expr) -> Expr:
        """c * (x // c) is x where x % c is known to be 0."""

        def leaf(x: Expr) -> Expr | None:
            if x.op not in ("add", "mul") or x.kind != "int":
                return None
            for m, k in x.terms.items():
                factors = m.args if m.op == "mul" else (m,)
                for q in factors:
                    if q.op != "floordiv" or self._known.get(nodes.mod(*q.args)) is not nodes.ZERO:
                        continue
                    whole = nodes.from_terms({m: k})
                    quotient, rest = nodes.split_divisible(whole, nodes.mul(q.args[1], q))
                    if rest is nodes.ZERO:
                        return leaf_of(nodes.add(nodes.sub(x, whole), nodes.mul(quotient, q.args[0])))
            return None

        def leaf_of(x: Expr) -> Expr:
            return nodes.rebuild(x, leaf)

        return leaf_of(e)

    def statically_known(self, e: Expr | bool) -> bool | None:
        """True or False where ranges and guards decide `e` for every call, else None. Records nothing."""
        e = self.simplify(e)
        if e.op == "const":
            return bool(e.value)
        if e in self._facts:
            return True
        if nodes.not_(e) in self._facts:
            return False
        if e.op == "le" and self._orders and all(a.kind == "int" for a in e.args):
            d = nodes.sub(*e.args)
            for known in self._orders:  # known <= 0
                if known.terms == d.terms and d.offset <= known.offset:
                    return True
                gap = nodes.add(known, d)
                if not gap.terms and gap.offset > 0:  # d > -known >= 0
                    return False
        return None

    def state(self) -> tuple:
        """What is known now, for `restore`."""
        return (
            *map(dict, (self.hints, self.ranges, self._known)),
            list(self.guards),
            set(self._facts),
            list(self._orders),
            self._unbacked,
        )

    def restore(self, state: tuple) -> None:
        """Forget what was learned, and the symbols that were made, since."""
        self.hints, self.ranges, self._known = map(dict, state[:3])
        self.guards, self._facts, self._orders, self._unbacked = list(state[3]), set(state[4]), list(state[5]), state[6]
        self._memo.clear()

    # ------------------------------------------------------------------------------------ guards

    def guard(self, e: Expr | bool) -> bool:
        """Decide `e` by the hints of this call, and record the decision unless it is known for every call.

        Raises DataDependentError if it depends on an unbacked symbol.
        """
        known = self.statically_known(e)
        if known is not None:
            return known
        e = self.simplify(e)
        value = self.hint(e)
        if value is None and self.promise is not None:
            promised = self.promise(e)
            if promised is not None:
                self.assume(e if promised else nodes.not_(e), record=False)
                return promised
        if value is None:
            raise DataDependentError(
                f"whether {e} holds depends on data: it is known only once the kernels have run "
                f"({', '.join(sorted(e.free_symbols - self.hints.keys()))})"
            )
        self.assume(e if value else nodes.not_(e), self.user_line() if self.user_line is not None else None)
        return bool(value)

    def decided(self, e: Expr | bool, special: bool = False) -> bool | None:
        """What is known of `e`, or holds in this call (recorded); None where data decides it.

        `special`: as if no size that data decides were 0, 1 or negative.
        """
        known = self.statically_known(e)
        if known is not None:
            return known
        if self.hint(e) is not None:
            return self.guard(e)
        return self.promise.special(self.simplify(e)) if special and self.promise is not None else None

    def specialize(self, e: Expr | Number) -> Number:
        """The value of `e` in this call, guarded."""
        e = self.simplify(e)
        if e.op == "const":
            return e.value
        value = self.hint(e)
        if value is None:
            raise DataDependentError(f"the value of {e} depends on data: it is known only once the kernels have run")
        if e.kind == "bool":
            return self.guard(e)
        self.guard(nodes.eq(e, value))
        if value == 0 and e.kind == "float":  # 0.0 == -0.0
            self.guard(nodes.signbit_(e))
        return value

    def assume(self, e: Expr, user_line: Any = None, record: bool = True) -> None:
        """Hold `e` true from now on; recorded as a guard unless told otherwise."""
        e = self._strengthen(e)
        for part in e.args if e.op == "and" else (e,):
            if record:
                self.guards.append(ShapeGuard(part, user_line))
            self._learn(part)
        self._memo.clear()

    def _strengthen(self, e: Expr) -> Expr:
        """B*T == 2*B*(T//2) is recorded as T % 2 == 0: a common factor that is not 0 in this call is dropped."""
        if e.op != "eq" or any(a.kind != "int" for a in e.args):
            return e
        d = nodes.sub(*e.args)
        if d.offset or len(d.terms) < 2:
            return e
        first, *others = (m.args if m.op == "mul" else (m,) for m in d.terms)
        for f in first:
            common = f.op == "sym" and all(f in m for m in others)
            if common and self.hint(f):
                return self._strengthen(nodes.eq(nodes.split_divisible(d, f)[0], 0))
        return e

    def _learn(self, e: Expr) -> None:
        self._facts.add(e)
        if e.op == "eq" and all(a.kind == "int" for a in e.args):
            self._equal(nodes.sub(*e.args))
        elif e.op == "le" and all(a.kind == "int" for a in e.args):
            d = nodes.sub(*e.args)
            self._orders.append(d)
            if len(d.terms) == 1:
                ((m, c),) = d.terms.items()
                if m.op == "sym":  # c*m + offset <= 0
                    lo, hi = self.ranges[m.value]
                    if c > 0:
                        hi = min(hi, -d.offset // c)
                    else:
                        lo = max(lo, -(-d.offset // -c))
                    self.ranges[m.value] = (lo, hi)
        elif e.op == "not" and e.args[0].op == "eq":
            a, b = e.args[0].args
            if a.op == "sym" and b.op == "const" and a.kind == "int":
                lo, hi = self.ranges[a.value]
                self.ranges[a.value] = (lo + (lo == b.value), hi - (hi == b.value))

    def _equal(self, d: Expr) -> None:
        """Learn d == 0: a term that occurs with coefficient 1 or -1 is replaced by the rest."""
        candidates = [m for m, c in d.terms.items() if abs(c) == 1]
        # The newest symbol goes: what came first names the others. Without a bare symbol, the longest term goes.
        syms = [m for m in candidates if m.op == "sym" and m.value in self.hints]
        if syms:
            order = list(self.hints)
            m = max(syms, key=lambda s: order.index(s.value))
        elif candidates:
            m = max(candidates, key=lambda x: (len(str(x)), str(x)))
        else:
            return
        c = d.terms[m]
        value = nodes.mul(nodes.sub(d, nodes.mul(m, c)), -c)
        if m.op == "sym" and m.value in value.free_symbols:
            return
        self._known = {k: nodes.rebuild(v, {m: value}.get) for k, v in self._known.items()}
        self._known[m] = value
        if m.op == "sym" and value.op == "const":
            self.ranges[m.value] = (value.value, value.value)
        elif m.op == "sym":
            lo, hi = bounds(value, self.ranges)
            old = self.ranges[m.value]
            self.ranges[m.value] = (max(lo, old[0]), min(hi, old[1]))

    def __repr__(self) -> str:
        symbols = ", ".join(f"{n} = {self.hints.get(n, '?')} in [{lo}, {hi}]" for n, (lo, hi) in self.ranges.items())
        return f"ShapeEnv({symbols}; {len(self.guards)} guards)"


def expr_of(x) -> Expr:
    """The expression of a number, SymInt, SymFloat or SymBool."""
    return as_expr(x)


def value_of(x, values: dict[str, Number]) -> Number:
    """A number as it is; a symbolic one evaluated for these values of the symbols."""
    e = getattr(x, "expr", None)
    return x if e is None else evaluate(e, values)


__all__ = ["DataDependentError", "ShapeEnv", "ShapeGuard", "const", "expr_of", "value_of"]
