"""Whether a captured program works for all the sizes that were marked dynamic."""

from __future__ import annotations

from typing import Any

from aten.errors import ConstraintViolationError
from aten.symbolic import nodes
from aten.symbolic.shape_env import ShapeEnv
from dynamo.marks import DYNAMIC
from dynamo.source import Size


def check(traced: Any) -> None:
    """Raise ConstraintViolationError where a size that was marked dynamic is a constant of the program, or bounded by it."""
    for source, value in zip(traced.inputs, traced.example_inputs):
        for dim, (low, high) in getattr(value, DYNAMIC, {}).items():
            text = f"{source}.shape[{dim}]"
            name = next((n for n, s in traced.symbols.items() if s == Size(source, dim)), None)
            if name is None:
                continue  # (a static mark, dynamic=False: what the call says goes first)
            known = traced.shape_env.simplify(nodes.sym(name))
            if known.op == "const":
                raise ConstraintViolationError(
                    f"Constraints violated ({text})! It was marked dynamic, and the program works for {known.value} only. "
                    "weft._dynamo.maybe_mark_dynamic lets it be a constant"
                )
            _check_bounds(traced, name, text, low, high)


def _check_bounds(traced: Any, name: str, text: str, low: int, high: int | None) -> None:
    hint = traced.shape_env.hints[name]
    env = ShapeEnv()
    env.symbol(name, hint, max(low, 2) if hint >= 2 else low, high)
    for guard in traced.shape_env.guards:
        if guard.expr.free_symbols == {name} and env.statically_known(guard.expr) is not True:
            where = f", at {guard.user_line}" if guard.user_line else ""
            needs = f"the program needs {guard.expr} of {name} = {text}{where}"
            raise ConstraintViolationError(f"Constraints violated ({text})! It was marked dynamic, and {needs}")
