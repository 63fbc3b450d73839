"""Passes run one after the other, in an order that constraints ask for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from aten.fx.passes.infra.pass_base import PassResult

Pass = Callable[[Any], Any]


def pass_result_wrapper(fn: Callable | None) -> Callable | None:
    """A pass that gives a PassResult, of a function that may give nothing: then it changed its argument."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(module: Any) -> PassResult:
        result = fn(module)
        if isinstance(result, PassResult):
            return result
        return PassResult(module if result is None else result, True)

    return wrapped


def this_before_that_pass_constraint(this: Callable, that: Callable) -> Callable:
    """The constraint that `this` runs before `that`: a function of two passes, one of which runs before the other."""

    def holds(a: Callable, b: Callable) -> bool:
        return not (a == that and b == this)

    return holds


class PassManager:
    """`manager(module)` runs the passes `steps` times, or until none changes anything; gives a PassResult.

    constraints: functions of two passes, false where the first may not run before the second. run_checks_after_each_pass: call
    `check(module)` behind each pass too. Raises RuntimeError for constraints that no order meets, and an Exception that names the
    pass for whatever it raises.
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Callable[[Pass, Pass], bool]] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ):
        self.passes: list[Pass] = list(passes or [])
        self.constraints = list(constraints or [])
        self.steps = 1 if steps is None else steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._ordered = False

    def add_pass(self, _pass: Pass) -> None:
        self.passes.append(_pass)
        self._ordered = False

    def add_constraint(self, constraint: Callable[[Pass, Pass], bool]) -> None:
        self.constraints.append(constraint)
        self._ordered = False

    def validate_constraints(self) -> None:
        """Raise RuntimeError where a pass runs before one that it may not run before."""
        for i, first in enumerate(self.passes):
            for second in self.passes[i + 1 :]:
                if not all(constraint(first, second) for constraint in self.constraints):
                    raise RuntimeError(f"pass schedule constraint violated: {first} runs before {second}")

    def solve_constraints(self) -> None:
        """Put the passes into an order that the constraints allow, the given one where they leave it open."""
        left, ordered = list(self.passes), []
        while left:
            free = next((p for p in left if all(c(p, q) for q in left if q is not p for c in self.constraints)), None)
            if free is None:
                raise RuntimeError(f"pass schedule constraints cannot be met: each of {left} has to wait for another")
            left.remove(free)
            ordered.append(free)
        self.passes, self._ordered = ordered, True

    def add_checks(self, check: Callable) -> None:
        """Use check(module), which raises for a graph that is not as it should be."""
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Any) -> None:
        """Nothing is checked unless `add_checks` says what."""

    def __call__(self, module: Any) -> PassResult:
        if not self._ordered:
            self.solve_constraints()
        self._checked(module)
        changed = False
        for _ in range(self.steps):
            module, modified = self._round(module)
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _round(self, module: Any) -> tuple[Any, bool]:
        modified = False
        for one in self.passes:
            try:
                result = one(module)
                if not isinstance(result, PassResult):
                    raise TypeError(f"The result of the pass should be of type PassResult, not {type(result).__name__}")
                module, modified = result.graph_module, modified or result.modified
                if self.run_checks_after_each_pass:
                    self._checked(module)
            except Exception as e:
                raise Exception(f"An error occurred when running the '{_name(one)}' pass: {e}") from e
        return module, modified

    def _checked(self, module: Any) -> None:
        try:
            self.check(module)
        except Exception:
            if not self.suppress_check_failures:
                raise


def _name(one: Callable) -> str:
    return getattr(one, "__name__", type(one).__name__)


__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]
