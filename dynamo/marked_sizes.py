"""Whether a captured program works for all the sizes that were marked dynamic."""

from __future__ import annotations

from typing import Any

from aten.errors import ConstraintViolationError
from aten.symbolic import nodes
from dynamo.marks import DYNAMIC
from dynamo.source import Size


def check(traced: Any) -> None:
    """Raise ConstraintViolationError where a size that was marked dynamic is a constant of the program."""
    for source, value in zip(traced.inputs, traced.example_inputs):
        for dim in getattr(value, DYNAMIC, {}):
            text = f"{source}.shape[{dim}]"
            name = next((n for n, s in traced.symbols.items() if s == Size(source, dim)), None)
            if name is None:
                continue  # (a static mark, dynamic=False: what the call says goes first)
            value = only_value(traced.shape_env, name)
            if value is not None:
                where = next((f", at {g.user_line}" for g in traced.shape_env.guards if name in g.expr.free_symbols), "")
                raise ConstraintViolationError(
                    f"Constraints violated ({text})! It was marked dynamic, and the program works for {value} only{where}. "
                    "weft._dynamo.maybe_mark_dynamic lets it be a constant"
                )


def only_value(env: Any, name: str) -> Any:
    """The one value of a symbol that the guards leave, or None."""
    known = env.simplify(nodes.sym(name))
    if known.op == "const":
        return known.value
    hint = env.hints[name]
    least = env.statically_known(nodes.ge(nodes.sym(name), hint))
    most = env.statically_known(nodes.le(nodes.sym(name), hint))
    return hint if least and most else None
