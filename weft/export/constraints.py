"""What tracing took for granted of sizes, against what the user said of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from aten.errors import ConstraintViolationError
from aten.symbolic import nodes
from aten.symbolic.shape_env import ShapeEnv
from dynamo.source import Size
from weft.export.dynamic_shapes import NO_END, Dim, Hint


class Sized:
    """A size of which something was said: `symbol` is its name in the graph, `text` the user's expression for it."""

    def __init__(self, dim: Dim | Hint, symbol: str | None, hint: int, text: str):
        self.dim, self.symbol, self.hint, self.text = dim, symbol, hint, text


def symbol_of(traced: Any, tensor: Any, dim: int, scope: Any) -> str | None:
    """The symbol of a tensor's size, or None where the graph takes it for a constant."""
    for name, source in traced.symbols.items():
        if isinstance(source, Size) and source.key == dim and source.base.get(scope) is tensor:
            return name
    return None


def check(traced: Any, sizes: list[Sized]) -> None:
    """Raise ConstraintViolationError where the program works for fewer sizes than was said."""
    wrong: dict[str, str] = {}  # name of a Dim → what is wrong
    fixes: dict[str, str] = {}  # the same → what to say instead
    env, meaning = _as_said(sizes)
    for sized in sizes:
        _check_range(sized, wrong)
        if sized.symbol is None:
            _specialized(sized, sized.hint, wrong, fixes)
        elif isinstance(sized.dim, Hint):
            value = traced.shape_env.simplify(nodes.sym(sized.symbol))
            if value.op == "const":
                _specialized(sized, value.value, wrong, fixes)
    for guard in traced.shape_env.guards:
        known = {name: meaning[name] for name in guard.expr.free_symbols if name in meaning}
        if not known or len(known) < len(guard.expr.free_symbols):
            continue  # it relies on a size of which nothing was said
        condition = nodes.rebuild(guard.expr, lambda e, known=known: known.get(e.name) if e.op == "sym" else None)
        if env.statically_known(condition) is not True:
            _violated(traced, guard, [s for s in sizes if s.symbol in known], wrong, fixes)
    if wrong:
        text = f"Constraints violated ({', '.join(wrong)})! " + "\n  - ".join(["", *dict.fromkeys(wrong.values())])
        if fixes:
            text += "\n\nSuggested fixes:\n" + "\n".join(f"  {name} = {value}" for name, value in fixes.items())
        raise ConstraintViolationError(text)


def _as_said(sizes: list[Sized]) -> tuple[ShapeEnv, dict[str, Any]]:
    """An env that knows what was said, and each symbol in terms of it."""
    env, meaning = ShapeEnv(), {}
    for sized in sizes:
        if sized.symbol is None or not isinstance(sized.dim, Dim):
            continue
        root = sized.dim.root
        if root.__name__ not in env.ranges:
            hint = (sized.hint - sized.dim.offset) // sized.dim.factor
            low = max(root.min, 2) if hint >= 2 else root.min  # sizes of 0 and 1 are programs of their own
            env.symbol(root.__name__, hint, low, None if root.max == NO_END else root.max)
        whole = nodes.mul(nodes.sym(root.__name__), nodes.const(sized.dim.factor))
        meaning[sized.symbol] = nodes.add(whole, nodes.const(sized.dim.offset))
    return env, meaning


def _check_range(sized: Sized, wrong: dict[str, str]) -> None:
    dim = sized.dim
    if isinstance(dim, Dim):
        inside = dim.min <= sized.hint <= dim.max
        if not inside or (sized.hint - dim.offset) % dim.factor:
            wrong[repr(dim)] = f"{sized.text} is {sized.hint}, which is not {dim!r} in [{dim.min}, {dim.max}]"


def _specialized(sized: Sized, value: Any, wrong: dict[str, str], fixes: dict[str, str]) -> None:
    if isinstance(sized.dim, Hint):
        if sized.dim is Dim.DYNAMIC:
            wrong[repr(sized.dim)] = f"{sized.text} was said to be Dim.DYNAMIC, and the program works for {value} only"
        return
    wrong[repr(sized.dim)] = f"{sized.text} was said to be {sized.dim!r}, and the program works for {value} only"
    fixes[repr(sized.dim)] = str(value)


def _violated(traced: Any, guard: Any, sizes: list[Sized], wrong: dict[str, str], fixes: dict[str, str]) -> None:
    where = f", at {guard.user_line}" if guard.user_line else ""
    e = guard.expr
    for sized in sizes:
        simple = traced.shape_env.simplify(nodes.sym(sized.symbol))
        if simple.op == "const":
            _specialized(sized, simple.value, wrong, fixes)
            wrong[repr(sized.dim)] = wrong.get(repr(sized.dim), "") + where
    named = [s for s in sizes if isinstance(s.dim, Dim)]
    for sized in named:
        wrong.setdefault(repr(sized.dim), f"the program needs {_said(e, sizes)}{where}")
    if e.op == "eq" and len(named) == 2 and all(a.op == "sym" for a in e.args):
        first, second = named
        fixes.setdefault(repr(second.dim), repr(first.dim))
    elif len(named) == 1 and e.op == "le" and named[0].dim.factor == 1 and repr(named[0].dim) not in fixes:
        name = repr(named[0].dim)
        bound = _bound(e, named[0].symbol)
        if bound is not None:
            fixes[name] = f"Dim('{name}', {bound})"


def _bound(e: Any, symbol: str | None) -> str | None:
    left, right = e.args
    if left.op == "sym" and left.name == symbol and right.op == "const":
        return f"max={right.value}"
    if right.op == "sym" and right.name == symbol and left.op == "const":
        return f"min={left.value}"
    return None


def _said(e: Any, sizes: list[Sized]) -> str:
    """The condition in the user's words."""
    text = str(e)
    for sized in sizes:
        if sized.symbol is not None:
            text = text.replace(sized.symbol, sized.text)
    return text


class ValueRange(NamedTuple):
    """The least and the greatest value of a size."""

    lower: int
    upper: float


def ranges(traced: Any, sizes: list[Sized]) -> dict[str, ValueRange]:
    """symbol → the values that an exported program takes."""
    found = {}
    for name in traced.symbols:
        low, high = traced.shape_env.ranges[name]
        for sized in sizes:
            if sized.symbol == name and isinstance(sized.dim, Dim):
                low = max(low, sized.dim.min)
                high = high if sized.dim.max == NO_END else min(high, sized.dim.max)
        found[name] = ValueRange(low, high)
    return found
