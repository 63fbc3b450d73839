"""Backwards for gradients as they come, for exact mode: one Program for each form (aten/aot/form.py) other than the one
that the forward was compiled with, made when it is first met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import settings
from aten.aot.form import Form, form_of, in_form
from aten.errors import GraphFailed
from aten.fx.symbols import binders, read
from aten.records import record
from aten.symbolic.evaluate import evaluate


@record(frozen=True)
class _Backward:
    """A compiled backward: where its inputs come from, and the conditions under which it was made."""

    run: Callable[..., tuple]
    sources: tuple[tuple[str, Any], ...]
    guards: tuple[Any, ...]


class Backwards:
    """backward(argument, saved, grads) of one captured graph, for gradients in any form.

    argument(i, checked): what the graph was called with; if checked, RuntimeError where it has been written since. saved: the
    names of what the forward keeps, in the joint graph; compile_core: a core graph → its callable. None where this form cannot
    be compiled.
    """

    def __init__(self, gm: Any, saved: Sequence[str], compile_core: Callable[[Any], Callable[..., tuple]]):
        self.gm, self.saved, self.compile_core = gm, tuple(saved), compile_core
        self.options = {s.name: getattr(settings, s.name) for s in settings.declared.values() if s.option}
        self.found: dict[tuple[Form | None, ...], _Backward] = {}
        self.where = binders(gm.graph)

    def __call__(self, argument: Callable[[int, bool], Any], saved: Sequence[Any], grads: Sequence[Any]) -> tuple | None:
        forms = tuple([form_of(g, bool(self.where)) for g in grads])
        found = self.found.get(forms)
        if found is None:
            found = self.found[forms] = self._make(forms)
        symbols: dict[str, Any] = dict(zip(self.saved, saved))
        if self.where and (found.guards or any(kind == "symbol" for kind, _ in found.sources)):
            symbols.update({name: read({at[0]: argument(at[0], False)}, at) for name, at in self.where.items()})
        if not all(g.free_symbols <= symbols.keys() and evaluate(g, symbols) for g in found.guards):
            return None
        args = []
        for kind, which in found.sources:
            if kind == "symbol" and which not in symbols:
                return None
            args.append(saved[which] if kind == "saved" else argument(which, True) if kind == "input" else symbols[which])
        args += [in_form(g, form) for g, form in zip(grads, forms) if form is not None]
        try:
            return found.run(*args)
        except GraphFailed:  # what is saved lies otherwise than the graph says
            return None

    def _make(self, forms: tuple[Form | None, ...]) -> _Backward:
        from aten.aot.pipeline import backward_in_form
        from inductor.decompositions import decompositions

        env = self.gm.shape_env
        before = len(env.guards) if env is not None else 0
        with settings.options(self.options):
            graph, sources = backward_in_form(self.gm, self.saved, forms, decompositions())
            results = graph.graph.outputs
            run = self.compile_core(graph) if any(g is not None for g in results) else _nothing(len(results))
        guards = tuple([g.expr for g in env.guards[before:]]) if env is not None else ()
        return _Backward(run, tuple(sources), guards)


def _nothing(n: int) -> Callable[..., tuple]:
    return lambda *args: (None,) * n


def for_node(backwards: Backwards, gradients: Sequence[int]) -> Callable[[Any, tuple], Any]:
    """backward(node, grads) for `inductor._runner.Training`: what it gives where its own Program does not fit."""

    def backward(node: Any, grads: tuple) -> Any:
        (kept,) = node.saved
        found = backwards(kept.argument, kept.values(), grads)
        if found is None:
            return NotImplemented
        out: list[Any] = [None] * kept.n_inputs
        for i, g in zip(gradients, found):
            out[i] = g
        return tuple(out)

    return backward


__all__ = ["Backwards", "for_node"]
