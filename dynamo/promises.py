"""Sizes that data decides: what the shape rule of an op answers for them, and what the graph has to check as it runs.

A rule asks conditions of its sizes. Those on sizes that no one knows yet are answered

- as for sizes of 2 and more, where that decides them: a size of 0 or 1 is special to few ops. The graph then checks that the
  result has the sizes that the rule has given it;
- else by a guess, which the graph checks behind the op: that what may be equal is, and what the rule needs to go through.

The checks come behind the op, which raises what eager raises for arguments that it does not take.
"""

from __future__ import annotations

import _operator as operator
from collections.abc import Callable
from typing import Any

from aten.fx.targets import check, expect, expect_sizes, is_op, item
from aten.meta import Meta, contiguous_strides
from aten.scalar.unpatched import functools
from aten.symbolic import nodes, unknown
from aten.symbolic.evaluate import evaluate
from aten.symbolic.nodes import Expr
from aten.symbolic.ranges import simplify
from aten.symbolic.shape_env import DataDependentError, ShapeEnv
from aten.symbolic.symint import SYMBOLIC, wrap
from dynamo import config

INT64 = (-(2**63), 2**63 - 1)
GUESSES = 8  # conditions of one rule


class Refused(Exception):
    """No way was found through the rule."""


class Promises:
    """Answers for conditions that no one knows; `flipped` of the guesses, in their order, are the other way round, and so is what
    would be answered for sizes of 2 and more to the conditions of `special_after_all`."""

    def __init__(self, env: ShapeEnv, flipped: frozenset[int], special_after_all: frozenset[Expr]):
        self.env, self.flipped, self.special_after_all = env, flipped, special_after_all
        self.equalities: list[Expr] = []  # with 0 or 1, which were answered so
        self.guesses: list[Expr] = []  # as taken to hold
        self.kinds: list[str] = []
        self.used_special = False
        self.inside = False  # whether the op itself reads values of tensors

    def special(self, e: Expr) -> bool | None:
        """The answer if no size that data decides is 0 or 1, or a number below."""
        hints, ranges = self.env.hints, self.env.ranges
        above = {n: (lo, hi) if n in hints else (max(lo, 2), max(hi, 2)) for n, (lo, hi) in ranges.items()}
        answer = simplify(e, above)
        if answer.op != "const":
            return None
        if e in self.special_after_all:
            return None
        self.used_special = True
        if "eq" in (e.op, e.args[0].op if e.op == "not" else ""):
            self.equalities.append(e)
        return bool(answer.value)

    def __call__(self, e: Expr) -> bool | None:
        answer = self.special(e)
        if answer is not None:
            return answer
        inner = e.args[0] if e.op == "not" else e
        if inner.op == "eq":  # (what is special after all is equal too)
            answer = e.op != "not"
        else:
            answer = bool(evaluate(e, {n: self.env.hints.get(n, 2) for n in e.free_symbols}))
        if len(self.guesses) in self.flipped:
            answer = not answer
        if len(self.guesses) == GUESSES:
            return None
        self.kinds.append(inner.op)
        self.guesses.append(e if answer else nodes.not_(e))
        return answer


def expected(output: Any, condition: Any) -> None:
    """Take a condition on numbers that data decides to hold, which the graph checks."""
    env = output.shape_env
    if env.statically_known(condition.expr) is None:
        output.graph.line = output.user_line()
        output.graph.call_function(expect, (condition, str(condition.expr), False), {}, val=None)
        env.assume(condition.expr, record=False)


def captures_sizes(output: Any) -> bool:
    """Whether sizes that data decides become symbols."""
    return output.options.fullgraph or config.capture_dynamic_output_shape_ops


def new_symbol(env: ShapeEnv, made: list[str], kind: str, most: int | None) -> Any:
    """A symbol for what data decides, whose name is added to `made`."""
    lo, hi = INT64 if kind == "number" else (0, most)
    value = env.unbacked(lo, hi, "float" if kind == "float" else "int")
    made.append(value.expr.name)
    return value


def through(env: ShapeEnv, rule: Callable[[], Any], errors: tuple, sizes: bool) -> tuple[Any, Promises]:
    """What the rule answers, and the promises taken for it; `sizes`: it may make symbols.

    Raises Refused if no guess leads through.
    """
    before = env.state()
    flipped: frozenset[int] = frozenset()
    special: frozenset[Expr] = frozenset()
    tried: set[tuple] = set()
    while True:
        tried.add((flipped, special))
        env.restore(before)
        promises = Promises(env, flipped, special)
        made: list[str] = []
        env.promise = promises
        try:
            with unknown.allowed(functools.partial(new_symbol, env, made) if sizes else None):
                result = rule()
            promises.inside = bool(made)
            result = with_bare_symbols(env, result, frozenset(made))
            keep_checked(env, before, promises, frozenset(made) - bound_by(result))
            return result, promises
        except DataDependentError as e:
            raise Refused(str(e)) from e
        except errors as e:
            # What is refused may hang on the last guess that could be otherwise: sizes that are not equal are refused for good.
            last = next((i for i in reversed(range(len(promises.guesses))) if promises.kinds[i] != "eq"), None)
            flipped = frozenset() if last is None else frozenset({*(i for i in flipped if i < last), last})
            if (flipped, special) in tried and promises.equalities:  # or on a size that has to be 0 or 1
                flipped, special = frozenset(), special | {promises.equalities[-1]}
            if (flipped, special) in tried:
                raise Refused(str(e)) from e
        finally:
            env.promise = None


def bound_by(result: Any) -> frozenset[str]:
    """The symbols that are sizes of the result."""
    return frozenset(s.expr.name for m in _metas(result) for s in m.sizes if type(s) in SYMBOLIC and s.expr.op == "sym")


def keep_checked(env: ShapeEnv, before: tuple, promises: Promises, inner: frozenset[str]) -> None:
    """Guesses on numbers that the op keeps to itself cannot be checked: what was learned from them is forgotten, and the sizes of
    the result are checked instead."""
    kept = [guess for guess in promises.guesses if not guess.free_symbols & inner]
    if len(kept) == len(promises.guesses):
        return
    ranges, guards, count = env.ranges, env.guards[len(before[3]) :], env.state()[-1]
    env.restore((*before[:-1], count))
    env.ranges.update({name: ranges[name] for name in ranges.keys() - env.ranges.keys()})
    for guard in guards:
        env.assume(guard.expr, guard.user_line)
    for guess in kept:
        env.assume(guess, record=False)
    promises.guesses, promises.used_special = kept, True


def with_bare_symbols(env: ShapeEnv, result: Any, made: frozenset[str]) -> Any:
    """The result with a symbol of its own for each size that is computed from symbols which no size of it binds."""
    unbound = made - bound_by(result)

    def renamed(meta: Any) -> Any:
        if type(meta) is tuple or type(meta) is list:
            return type(meta)(map(renamed, meta))
        if type(meta) is not Meta or not any(type(s) in SYMBOLIC and s.expr.free_symbols & unbound for s in meta.sizes):
            return meta
        sizes = tuple(env.unbacked() if type(s) in SYMBOLIC and s.expr.free_symbols & unbound else s for s in meta.sizes)
        return Meta(meta.dtype, meta.device, sizes, contiguous_strides(sizes), 0, meta.requires_grad)

    return renamed(result)


def write_checks(graph: Any, env: ShapeEnv, promises: Promises, node: Any, result: Any) -> None:
    """The nodes that check what was promised, behind the op."""
    if promises.inside:
        node.meta["whole"] = True
    for guess in promises.guesses:
        graph.call_function(expect, (wrap(guess, env), str(guess), False), {}, val=None)
    if not promises.used_special:
        return
    if type(result) is Meta:
        graph.call_function(expect_sizes, (node, result.sizes, False), {}, val=None)
    elif isinstance(result, (tuple, list)) and result and all(type(m) is Meta for m in result):
        graph.call_function(expect_sizes, (node, tuple([m.sizes for m in result]), False), {}, val=None)


def settle(graph: Any, mutated: Any) -> None:
    """Whether the call can be made again where a promise is not kept, which is where nothing has changed."""
    promised = [n for n in graph.nodes if n.target is expect or n.target is expect_sizes]
    if not promised or mutated:
        return
    for node in graph.nodes:
        known = is_op(node.target) and "random" not in node.target.tags
        if node.op == "call_function" and not (known or node.target in _WITHOUT_EFFECT):
            return
    for node in promised:
        node.args = (*node.args[:-1], True)


_WITHOUT_EFFECT = (operator.getitem, item, expect, expect_sizes, check)


def _metas(result: Any) -> list[Meta]:
    if isinstance(result, (tuple, list)):
        return [m for part in result for m in _metas(part)]
    return [result] if type(result) is Meta else []
