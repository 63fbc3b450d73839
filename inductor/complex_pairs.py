"""Arithmetic of complex tensors on a device as that of their parts, which are floats in memory: what loops can compute.

A function here takes an op's core arguments, tensors as `Pair`s, and gives a Pair, or a real tensor. Formulas are those that do
not overflow where the result does not (Smith's quotient, roots by halves).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from aten import dispatch
from aten import dtype as dtypes
from aten._native import Tensor
from aten.op import Op, ops, registry
from aten.scalar.unpatched import math


class Pair(NamedTuple):
    """A complex tensor or number by its parts."""

    re: Any
    im: Any


def pair(x: Any) -> Any:
    """The parts of a complex tensor; a real one's other part is 0. What is neither tensor nor number stays as it is."""
    if isinstance(x, Tensor):
        if not x.dtype.is_complex:
            return Pair(x, 0.0)
        both = ops.view_as_real(x)
        return Pair(ops.select(both, -1, 0), ops.select(both, -1, 1))
    if type(x) in (list, tuple):
        return [pair(v) if isinstance(v, Tensor) else v for v in x]
    return x


def number(x: Any) -> Pair:
    """An operand that may be a number."""
    return x if isinstance(x, Pair) else Pair(x.real, x.imag) if isinstance(x, complex) else Pair(x, 0.0)


def joined(x: Any, order: Sequence[int] = ()) -> Any:
    """The tensor that a function's result stands for. `order`: its dims as they lie in memory, from the outermost."""
    if not isinstance(x, Pair):
        return x
    parts = ops.broadcast_tensors(list(x))
    if list(order) == sorted(order):
        return ops.view_as_complex(ops.stack(parts, -1))
    made = ops.view_as_complex(ops.stack([ops.permute(p, list(order)) for p in parts], -1))
    return ops.permute(made, [list(order).index(d) for d in range(len(order))])


def order_of(op: Op, args: Any) -> Sequence[int]:
    """The dims of a pointwise op's result, as they lie in memory; none where they are in order, or sizes are symbols."""
    if "pointwise" not in op.tags:
        return ()
    strides = dispatch.result_meta(op, args).strides
    if not builtins.all(isinstance(n, int) for n in strides):
        return ()
    return sorted(range(len(strides)), key=lambda d: -strides[d])


# ------------------------------------------------------------------------------------------------------- arithmetic
def add(a: Any, b: Any) -> Pair:
    """a + b"""
    a, b = number(a), number(b)
    return Pair(a.re + b.re, a.im + b.im)


def sub(a: Any, b: Any) -> Pair:
    """a - b"""
    a, b = number(a), number(b)
    return Pair(a.re - b.re, a.im - b.im)


def mul(a: Any, b: Any) -> Pair:
    """a * b"""
    a, b = number(a), number(b)
    return Pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


def div(a: Any, b: Any, rounding_mode: Any = None) -> Pair:
    """a / b: by the larger part of b."""
    a, b = number(a), number(b)
    c, d = (x if isinstance(x, Tensor) else ops.full_like(_tensor(a), x) for x in b)
    first = ops.abs(c) >= ops.abs(d)
    large, small = ops.where(first, c, d), ops.where(first, d, c)
    zero = ops.eq(large, 0)
    ratio = ops.where(zero, 0.0, small / ops.where(zero, 1.0, large))
    total = ops.where(zero, ops.abs(large), large + small * ratio)
    re = ops.where(first, a.re + a.im * ratio, a.re * ratio + a.im)
    im = ops.where(first, a.im - a.re * ratio, a.im * ratio - a.re)
    return Pair(re / total, im / total)


def _tensor(x: Pair) -> Tensor:
    return x.re if isinstance(x.re, Tensor) else x.im


def neg(a: Pair) -> Pair:
    """-a"""
    return Pair(-a.re, -a.im)


def conj_physical(a: Pair) -> Pair:
    """The conjugate."""
    return Pair(a.re, -a.im)


def reciprocal(a: Pair) -> Pair:
    """1 / a"""
    return div(Pair(1.0, 0.0), a)


def abs(a: Pair) -> Any:
    """The magnitude."""
    return ops.hypot(a.re, a.im)


def eq(a: Any, b: Any) -> Any:
    """Whether both parts are."""
    a, b = number(a), number(b)
    return ops.logical_and(ops.eq(a.re, b.re), ops.eq(a.im, b.im))


def ne(a: Any, b: Any) -> Any:
    """Whether a part is not equal."""
    return ops.logical_not(eq(a, b))


def where(condition: Any, a: Any, b: Any) -> Pair:
    """a where the condition holds."""
    a, b = number(a), number(b)
    return Pair(ops.where(condition.re, a.re, b.re), ops.where(condition.re, a.im, b.im))


def cast(a: Pair, dtype: Any) -> Any:
    """To another complex dtype, or the real part to a real one."""
    if not dtype.is_complex:
        return a.re.to(dtype)
    part = dtypes.float64 if dtype is dtypes.complex128 else dtypes.float32
    return Pair(a.re.to(part), a.im.to(part) if isinstance(a.im, Tensor) else ops.zeros_like(a.re, dtype=part))


# -------------------------------------------------------------------------------------------------------- functions
def exp(a: Pair) -> Pair:
    """e to the power of a"""
    size = ops.exp(a.re)
    return Pair(size * ops.cos(a.im), ops.where(ops.eq(a.im, 0), a.im, size * ops.sin(a.im)))


def log(a: Pair) -> Pair:
    """The principal logarithm."""
    return Pair(ops.log(abs(a)), ops.atan2(a.im, a.re))


def sqrt(a: Pair) -> Pair:
    """The root in the right half plane."""
    half = ops.sqrt(abs(a) * 0.5 + ops.abs(a.re) * 0.5)
    other = ops.where(ops.eq(half, 0), 0.0, a.im / (2 * ops.where(ops.eq(half, 0), 1.0, half)))
    right = ops.ge(a.re, 0)
    return Pair(ops.where(right, half, ops.abs(other)), ops.where(right, other, ops.copysign(half, a.im)))


def sinh(a: Pair) -> Pair:
    """sinh x cos y + i cosh x sin y"""
    return Pair(ops.sinh(a.re) * ops.cos(a.im), ops.cosh(a.re) * ops.sin(a.im))


def cosh(a: Pair) -> Pair:
    """cosh x cos y + i sinh x sin y"""
    return Pair(ops.cosh(a.re) * ops.cos(a.im), ops.sinh(a.re) * ops.sin(a.im))


def tanh(a: Pair) -> Pair:
    """(sinh 2x + i sin 2y) / (cosh 2x + cos 2y), which is ±1 far out."""
    far = ops.abs(a.re) > 20
    x = ops.where(far, 0.0, a.re)
    total = ops.cosh(2 * x) + ops.cos(2 * a.im)
    return Pair(ops.where(far, ops.sign(a.re), ops.sinh(2 * x) / total), ops.where(far, 0.0, ops.sin(2 * a.im) / total))


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """f of the hyperbolic function g, where f(z) = -i g(iz)."""

    def of(a: Pair) -> Pair:
        made = function(Pair(-a.im, a.re))
        return Pair(made.im, -made.re)

    return of


def cos(a: Pair) -> Pair:
    """cosh(iz)"""
    return cosh(Pair(-a.im, a.re))


def sigmoid(a: Pair) -> Pair:
    """1 / (1 + e to the power of -a)"""
    return reciprocal(add(exp(neg(a)), 1.0))


def silu(a: Pair) -> Pair:
    """a * sigmoid(a)"""
    return mul(a, sigmoid(a))


def power(a: Any, b: Any) -> Any:
    """a to the power of b: by products for small whole numbers."""
    if type(b) in (int, float) and b == int(b) and 1 <= builtins.abs(b) <= 4:
        made = a
        for _ in range(builtins.abs(int(b)) - 1):
            made = mul(made, a)
        return made if b > 0 else reciprocal(made)
    if not (isinstance(a, Pair) and isinstance(a.re, Tensor)):
        return NotImplemented
    b = number(b)
    if isinstance(b.re, Tensor) or b == (0, 0):
        return NotImplemented  # whose zeros have cases of their own
    made, nothing = exp(mul(b, log(a))), ops.logical_and(ops.eq(a.re, 0), ops.eq(a.im, 0))
    return Pair(ops.where(nothing, 0.0, made.re), ops.where(nothing, 0.0, made.im)) if b.re > 0 else made


def log_to(base: float) -> Callable[[Pair], Pair]:
    """The logarithm to another base."""

    def of(a: Pair) -> Pair:
        made, scale = log(a), 1 / math.log(base)
        return Pair(made.re * scale, made.im * scale)

    return of


def product(a: Pair, b: Pair, multiply: Callable[[Any, Any], Any]) -> Pair:
    """A product of matrices: four of their parts."""
    if not isinstance(a.im, Tensor) or not isinstance(b.im, Tensor):
        return NotImplemented
    return Pair(multiply(a.re, b.re) - multiply(a.im, b.im), multiply(a.re, b.im) + multiply(a.im, b.re))


def prod(a: Pair, dim: Any, keepdim: bool) -> Any:
    """The product over dims: of the first half of the elements and of the second, again and again."""
    sizes = list(a.re.shape)
    if not isinstance(a.im, Tensor) or not all(isinstance(n, int) for n in sizes):
        return NotImplemented
    dims = [d % max(len(sizes), 1) for d in dim] if dim else [*range(len(sizes))]
    kept = [d for d in range(len(sizes)) if d not in dims]
    n = math.prod(sizes[d] for d in dims)
    rest = Pair(*(ops.permute(x, [*kept, *dims]).reshape([*(sizes[d] for d in kept), n]) for x in a))
    if n == 0:
        return Pair(ops.sum(rest.re, [-1]) + 1.0, ops.sum(rest.im, [-1]))
    while n > 1:
        first, second, odd = (Pair(*(x[..., i:j] for x in rest)) for i, j in ((0, n // 2), (n // 2, n // 2 * 2), (n // 2 * 2, n)))
        rest = mul(first, second)
        if n % 2:
            rest = Pair(*(ops.cat([x, y], -1) for x, y in zip(rest, odd)))
        n = n // 2 + n % 2
    shape = [1 if d in dims else sizes[d] for d in range(len(sizes))] if keepdim else [sizes[d] for d in kept]
    return Pair(*(x.reshape(shape) for x in rest))


def cumprod(a: Pair, dim: int) -> Any:
    """Running products: of 2 neighbours, then of 4, of 8 …"""
    n = a.re.shape[dim] if a.re.ndim else 1
    if not isinstance(a.im, Tensor) or not isinstance(n, int):
        return NotImplemented
    step = 1
    while step < n:
        head, late, early = (
            Pair(*(ops.narrow(x, dim, start, length) for x in a)) for start, length in ((0, step), (step, n - step), (0, n - step))
        )
        a = Pair(*(ops.cat([x, y], dim) for x, y in zip(head, mul(late, early))))
        step *= 2
    return a


def by_parts(op: Op) -> Callable[..., Any]:
    """Of an op that is linear in its tensors and moves or adds them: the op of either part."""

    def of(*args: Any) -> Pair:
        def part(x: Any, k: int) -> Any:
            if isinstance(x, Pair):
                # (what is no float is an index or a mask, the same for both parts)
                real = isinstance(x.im, float)
                return x.re if real and (k == 0 or not x.re.dtype.is_floating_point) else ops.zeros_like(x.re) if real else x[k]
            if isinstance(x, complex):
                return (x.real, x.imag)[k]
            return [part(v, k) for v in x] if type(x) is list else x

        return Pair(*(op(*(part(x, k) for x in args)) for k in (0, 1)))

    return of


_FORMULAS: dict[str, Callable[..., Any]] = {
    "add": add, "sub": sub, "mul": mul, "div": div, "neg": neg, "conj_physical": conj_physical, "reciprocal": reciprocal,
    "abs": abs, "eq": eq, "ne": ne, "where": where, "cast": cast, "exp": exp, "log": log, "sqrt": sqrt, "sinh": sinh, "cosh": cosh,
    "tanh": tanh, "sin": _turned(sinh), "cos": cos, "tan": _turned(tanh), "sigmoid": sigmoid, "silu": silu, "pow": power,
    "log2": log_to(2), "log10": log_to(10), "rsqrt": lambda a: reciprocal(sqrt(a)),
    "isnan": lambda a: ops.logical_or(ops.isnan(a.re), ops.isnan(a.im)),
    "isinf": lambda a: ops.logical_or(ops.isinf(a.re), ops.isinf(a.im)),
    "isfinite": lambda a: ops.logical_and(ops.isfinite(a.re), ops.isfinite(a.im)),
    "prod": prod, "cumprod": cumprod, "mm": lambda a, b: product(a, b, ops.mm), "bmm": lambda a, b: product(a, b, ops.bmm),
}  # fmt: skip


def copied(*args: Any) -> Any:
    """Of another dtype; what is complex already is copied as it lies."""
    source = args[1]
    return NotImplemented if isinstance(source, Pair) and isinstance(source.im, Tensor) else by_parts(registry["copy"])(*args)


_FORMULAS["copy"] = copied
_MOVES = (
    "sum mean cumsum cat index_select gather index flip roll tril triu constant_pad_nd scatter scatter_add index_add "
    "index_put select_scatter slice_scatter diagonal_scatter"
).split()


def decomposition_of(op: Op, otherwise: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The decomposition of an op where arguments are complex and on a device; `otherwise` for what has none here."""
    fn = by_parts(op) if op.name in _MOVES else _FORMULAS.get(op.name)
    return otherwise if fn is None else _where_complex(op, fn, otherwise)


def _where_complex(op: Op, fn: Callable[..., Any], otherwise: Callable[..., Any] | None) -> Callable[..., Any]:
    def decomposed(*args: Any) -> Any:
        if applies(args):
            made = fn(*map(pair, args))
            return made if made is NotImplemented else joined(made, order_of(op, args))
        return NotImplemented if otherwise is None else otherwise(*args)

    return decomposed


def applies(args: Any) -> bool:
    """Whether an op computes with complex numbers on a device: a tensor is one, or is made one."""
    found = [x for a in args for x in (a if type(a) in (list, tuple) else (a,))]
    tensors = [x for x in found if isinstance(x, Tensor)]
    if not any(x.device.type == "cuda" for x in tensors):
        return False
    kinds = {x.dtype.name for x in tensors if x.dtype.is_complex} | {
        x.name for x in found if getattr(x, "is_complex", False) is True and hasattr(x, "itemsize") and not isinstance(x, Tensor)
    }
    return len(kinds) >= 1 and "complex32" not in kinds or any(isinstance(x, complex) for x in found)
