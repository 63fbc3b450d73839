"""`weft._inductor.compile_fx`: the way into inductor, called as the function that it has of that name."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from aten.dispatch import no_grad
from inductor.entry import compile_fx

__all__ = ["compile_fx", "compile_fx_inner"]


def compile_fx_inner(gm: Any, example_inputs: Sequence[Any]) -> Callable[[Any], list[Any]]:
    """A callable of one list of inputs for a graph that `make_fx` gives, without gradients. It takes the inputs out of the
    list, so that nobody holds what the graph is done with."""
    flat = getattr(gm, "flat", tuple)  # (of what make_fx gives: its arguments may be nested)
    compiled = compile_fx(gm, tuple(flat(example_inputs)))

    def run(inputs: Any) -> list[Any]:
        given = tuple(flat(inputs))
        if isinstance(inputs, list):
            inputs.clear()
        with no_grad():
            return list(compiled(*given))

    return run


class _Called(types.ModuleType):
    """A module that is called as its function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return compile_fx(*args, **kwargs)


sys.modules[__name__].__class__ = _Called
