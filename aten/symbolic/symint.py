"""SymInt, SymFloat, SymBool: numbers whose value is an expression over the sizes of a graph's inputs.

They compute like numbers. Asking for a concrete value (`int(s)`, `if s > 4`, `range(s)`) answers from the hint, the
value seen in the call being compiled, and records a guard in the ShapeEnv that keeps the answer true.
A constant is never wrapped: operators return plain numbers when the result does not depend on a symbol.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aten.scalar.unpatched import functools, math
from aten.symbolic import nodes
from aten.symbolic.nodes import Expr, as_expr


class SymNode:
    """What PyTorch's code looks at through `s.node`: the sympy expression, the hint, the ShapeEnv."""

    __slots__ = ("_sym",)

    def __init__(self, sym: _Sym):
        self._sym = sym

    @property
    def expr(self):
        """The sympy expression."""
        from aten.symbolic.text import to_sympy

        return to_sympy(self._sym.expr)

    @property
    def hint(self):
        return self._sym.hint

    @property
    def shape_env(self):
        return self._sym.shape_env


def wrap(e: Expr, shape_env):
    """A plain number for a constant, else the SymInt, SymFloat or SymBool of `e`."""
    if e.op == "const":
        return e.value
    return _CLASSES[e.kind](e, shape_env)


def _other(x) -> Expr | None:
    t = type(x)
    if t is SymInt or t is SymFloat or t is SymBool:
        return x.expr
    if isinstance(x, (int, float)) or (isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0):
        return as_expr(x)
    return None  # (a tensor knows what to do with a number, its value is not asked for)


def _binary(fn: Callable[[Expr, Expr], Expr], reflected: bool = False):
    def method(self, other):
        if type(other) is int:
            e = nodes.const(other)
        else:
            e = _other(other)
            if e is None:
                return NotImplemented
        e = fn(e, self.expr) if reflected else fn(self.expr, e)
        return e.value if e.op == "const" else _CLASSES[e.kind](e, self.shape_env)

    return method


class _Sym:
    __slots__ = ("expr", "shape_env")

    def __init__(self, expr: Expr, shape_env):
        self.expr = expr
        self.shape_env = shape_env

    @property
    def node(self) -> SymNode:
        return SymNode(self)

    @property
    def kind(self) -> str:
        """ "int", "float" or "bool"."""
        return self.expr.kind

    @property
    def hint(self):
        """The value in the call being compiled; None if it depends on data."""
        return self.shape_env.hint(self.expr)

    def __repr__(self) -> str:
        return str(self.expr)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec) if not spec or spec[-1] == "s" else format(self._value(), spec)

    def _sympy_(self):
        return self.node.expr

    def _value(self):
        """The hint, guarded: the expression is fixed to it."""
        return self.shape_env.specialize(self.expr)

    def __hash__(self):
        return hash(self._value())

    def __deepcopy__(self, memo):
        return self

    __add__, __radd__ = _binary(nodes.add), _binary(nodes.add, True)
    __sub__, __rsub__ = _binary(nodes.sub), _binary(nodes.sub, True)
    __mul__, __rmul__ = _binary(nodes.mul), _binary(nodes.mul, True)
    __truediv__, __rtruediv__ = _binary(nodes.truediv), _binary(nodes.truediv, True)
    __floordiv__, __rfloordiv__ = _binary(nodes.floordiv), _binary(nodes.floordiv, True)
    __mod__, __rmod__ = _binary(nodes.mod), _binary(nodes.mod, True)
    __pow__, __rpow__ = _binary(nodes.pow_), _binary(nodes.pow_, True)
    __eq__, __ne__ = _binary(nodes.eq), _binary(nodes.ne)
    __lt__, __le__, __gt__, __ge__ = _binary(nodes.lt), _binary(nodes.le), _binary(nodes.gt), _binary(nodes.ge)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __neg__(self):
        return wrap(nodes.mul(-1, self.expr), self.shape_env)

    def __pos__(self):
        return self

    def __abs__(self):
        return self if self.shape_env.guard(nodes.ge(self.expr, 0)) else -self

    def __bool__(self) -> bool:
        return self.shape_env.guard(nodes.ne(self.expr, 0))

    def __int__(self) -> int:
        return int(self._value())

    def __float__(self) -> float:
        return float(self._value())

    def __trunc__(self):
        return wrap(nodes.to_int(self.expr), self.shape_env)

    def __floor__(self):
        return wrap(nodes.floor_(self.expr), self.shape_env)

    def __ceil__(self):
        return wrap(nodes.mul(-1, nodes.floor_(nodes.mul(-1, self.expr))), self.shape_env)


class SymInt(_Sym):
    """An int. `.expr` is ours, `.node.expr` sympy's, `.hint` the value seen."""

    __slots__ = ()
    stands_for = "int"  # in messages

    def __index__(self) -> int:
        return int(self._value())

    def __round__(self, ndigits=None):
        return self if ndigits is None or ndigits >= 0 else round(int(self), ndigits)

    def is_integer(self) -> bool:
        return True

    def bit_length(self) -> int:
        return int(self).bit_length()


class SymFloat(_Sym):
    """A float."""

    __slots__ = ()
    stands_for = "float"

    def __round__(self, ndigits=None):
        return round(float(self), ndigits)

    def is_integer(self) -> bool:
        return float(self).is_integer()


class SymBool(_Sym):
    """A bool; `bool(b)` guards. `&`, `|` and `~` do not."""

    __slots__ = ()
    stands_for = "bool"

    __and__ = __rand__ = _binary(nodes.and_)
    __or__ = __ror__ = _binary(nodes.or_)

    def __bool__(self) -> bool:
        return self.shape_env.guard(self.expr)

    def __invert__(self):
        return wrap(nodes.not_(self.expr), self.shape_env)


_CLASSES = {"int": SymInt, "float": SymFloat, "bool": SymBool}
SYMBOLIC = (SymInt, SymFloat, SymBool)


def is_symbolic(x) -> bool:
    """Whether `x` is a SymInt, SymFloat or SymBool."""
    return type(x) in SYMBOLIC


def env_of(*values):
    """The ShapeEnv of the first symbolic value, or None."""
    return next((x.shape_env for x in values if type(x) in SYMBOLIC), None)


def _function(fn: Callable[..., Expr], plain: Callable, doc: str):
    def call(*args):
        env = env_of(*args)
        return plain(*args) if env is None else wrap(fn(*map(as_expr, args)), env)

    functools.update_wrapper(call, plain, assigned=("__name__",))
    call.__doc__ = doc
    return call


sym_max = _function(nodes.max_, max, "The largest, without a guard.")
sym_min = _function(nodes.min_, min, "The smallest, without a guard.")
sym_not = _function(nodes.not_, lambda x: not x, "Whether `x` does not hold, without a guard.")
sym_float = _function(nodes.to_float, float, "float(x), without a guard.")
sym_int = _function(nodes.to_int, int, "int(x), without a guard.")
sym_sqrt = _function(nodes.sqrt_, math.sqrt, "The square root, without a guard.")
sym_ite = _function(nodes.where_, lambda c, a, b: a if c else b, "`a` if `c` else `b`, without a guard.")
sym_and = _function(nodes.and_, lambda *args: all(args), "Whether all hold, without a guard.")
sym_or = _function(nodes.or_, lambda *args: any(args), "Whether any holds, without a guard.")
