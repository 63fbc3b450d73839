"""Iterators of itertools: items come from a generator that is traced; Python's own is made again in the state it has come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.scalar.unpatched import itertools
from dynamo import breaks, outcome
from dynamo.breaks import Unsupported
from dynamo.polyfills.iteration import advanced
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE
from dynamo.variables.iterator import GeneratorVariable, IteratorVariable, handed


class LibraryIterator(IteratorVariable):
    """An iterator of a class written in C, whose items a generator gives while tracing (dynamo/polyfills/iteration.py)."""

    __slots__ = ("generator", "cls")

    def __init__(self, generator: GeneratorVariable, cls: type):
        super().__init__()
        self.generator = generator
        self.cls = cls

    def python_type(self):
        return self.cls

    def next(self, frame):
        return self.generator.next(frame)

    def recipe(self, emit):
        rule = STATES.get(self.cls)
        if rule is None or self.generator.running:
            raise self.not_rebuilt()
        made = ENDED[self.cls] if self.generator.done else rule(State(self, emit))
        return emit.shared(self, lambda: made)

    def not_rebuilt(self) -> Unsupported:
        return Unsupported(breaks.SUSPENDED, self.describe(), self.generator.born)


ITERATORS = ("it", "values", "keeps")  # variables that hold what `iter` has given


class State:
    """The variables of the generator where it stands, as recipes."""

    def __init__(self, iterator: LibraryIterator, emit: Any):
        self.iterator = iterator
        self.emit = emit
        self.started = iterator.generator.started

    def variable(self, name: str) -> Variable:
        frame = self.iterator.generator.frame
        found = frame.locals.get(name)
        if found is None:
            found = frame.free_cells[frame.code.co_freevars.index(name)]
        content = found.content if hasattr(found, "content") else found
        if content is None:
            raise self.iterator.not_rebuilt()
        return content.realize(frame)

    def __getitem__(self, name: str) -> Any:
        value = self.variable(name)
        return handed(self.emit, value) if name in ITERATORS else self.emit.value(value)

    def number(self, name: str) -> Any:
        """An int of the generator, or None."""
        return self.variable(name).as_python()

    def list(self, name: str) -> list:
        return [self.emit.value(v) for v in self.variable(name).items]  # type: ignore[attr-defined]


def call(function: Callable, *args: Any, **kwargs: Any) -> outcome.Call:
    return outcome.Call(outcome.Const(function), args, tuple(kwargs.items()))


def pair(*items: Any) -> Any:
    return outcome.Build("tuple", items)


def chain(state: State) -> Any:
    rest = call(itertools.chain.from_iterable, state["it"])
    return call(itertools.chain, state["values"], rest) if state.started else rest


def islice(state: State) -> Any:
    last, by = state.number("last"), outcome.Const(state.number("by"))
    wanted, i = state.number("wanted"), 0
    if state.started:  # the item at `i` was given, and the step follows when the next is asked for
        i = state.number("i") + 1
        wanted = wanted + by.value if last is None or wanted + by.value < last else last
    first, end = outcome.Const(max(0, wanted - i)), outcome.Const(None if last is None else max(0, last - i))
    return call(itertools.islice, state["it"], first, end, by)


def repeat(state: State) -> Any:
    if "count" not in state.iterator.generator.frame.code.co_varnames:
        return call(itertools.repeat, state["object"])
    left = state.number("count") if not state.started else state.number("left")
    return call(itertools.repeat, state["object"], outcome.Const(left))


def cycle(state: State) -> Any:
    if not state.started:
        return call(itertools.cycle, state["it"])
    saved, at = state.list("saved"), state.number("_at")
    if at is None:  # still in the first round: what `v` holds was given, and is saved when the next is asked for
        return call(itertools.cycle, call(itertools.chain, state["it"], pair(*saved, state["v"])))
    return call(itertools.cycle, pair(*saved[at + 1 :], *saved[: at + 1]))


def accumulate(state: State) -> Any:
    function = state["func"]
    if not state.started:
        return call(itertools.accumulate, state["it"], function, initial=state["initial"])
    again = call(itertools.accumulate, state["it"], function, initial=state["total"])
    if state.variable("total").is_same(NONE):  # (which would mean no initial value)
        raise state.iterator.not_rebuilt()
    return call(advanced, again, outcome.Const(1))


def chosen(function: Callable) -> Callable[[State], Any]:
    """Combinations and the like: made again from their pool, and advanced."""

    def rule(state: State) -> Any:
        given = state.number("_given") + 1 if state.started else 0
        again = call(function, state["pool"], state["r"])
        return call(advanced, again, outcome.Const(given)) if given else again

    return rule


def product(state: State) -> Any:
    given = state.number("_given") + 1 if state.started else 0
    again = call(itertools.product, *state.list("pools"))
    return call(advanced, again, outcome.Const(given)) if given else again


def pairwise(state: State) -> Any:
    if not state.started:
        return call(itertools.pairwise, state["it"])
    return call(itertools.pairwise, call(itertools.chain, pair(state["b"]), state["it"]))


def dropwhile(state: State) -> Any:
    return call(itertools.dropwhile, outcome.Const(never) if state.started else state["predicate"], state["it"])


def never(value: Any) -> bool:
    return False


def zip_longest(state: State) -> Any:
    rows = [outcome.Const(()) if v.is_same(NONE) else handed(state.emit, v) for v in state.variable("its").items]  # type: ignore[attr-defined]
    return call(itertools.zip_longest, *rows, fillvalue=state["fillvalue"])


def groupby(state: State) -> Any:
    if state.started:  # the groups share its state
        raise state.iterator.not_rebuilt()
    return call(itertools.groupby, state["it"], state["key"])


def with_function(cls: Any, name: str) -> Callable[[State], Any]:
    return lambda state: call(cls, state[name], state["it"])


STATES: dict[type, Callable[[State], Any]] = {
    itertools.chain: chain,
    itertools.islice: islice,
    itertools.repeat: repeat,
    itertools.cycle: cycle,
    itertools.accumulate: accumulate,
    itertools.product: product,
    itertools.starmap: with_function(itertools.starmap, "function"),
    itertools.takewhile: with_function(itertools.takewhile, "predicate"),
    itertools.filterfalse: with_function(itertools.filterfalse, "predicate"),
    itertools.dropwhile: dropwhile,
    itertools.compress: lambda state: call(itertools.compress, state["values"], state["keeps"]),
    itertools.pairwise: pairwise,
    itertools.zip_longest: zip_longest,
    itertools.combinations: chosen(itertools.combinations),
    itertools.combinations_with_replacement: chosen(itertools.combinations_with_replacement),
    itertools.permutations: chosen(itertools.permutations),
    itertools.groupby: groupby,
}
_empty = outcome.Const(())
_none, _zero, _one = outcome.Const(None), outcome.Const(0), outcome.Const(1)
ENDED = {  # one that has come to its end
    itertools.chain: call(itertools.chain),
    itertools.islice: call(itertools.islice, _empty, _zero),
    itertools.repeat: call(itertools.repeat, _none, _zero),
    itertools.cycle: call(itertools.cycle, _empty),
    itertools.accumulate: call(itertools.accumulate, _empty),
    itertools.product: call(itertools.product, _empty),
    itertools.starmap: call(itertools.starmap, _none, _empty),
    itertools.takewhile: call(itertools.takewhile, _none, _empty),
    itertools.filterfalse: call(itertools.filterfalse, _none, _empty),
    itertools.dropwhile: call(itertools.dropwhile, _none, _empty),
    itertools.compress: call(itertools.compress, _empty, _empty),
    itertools.pairwise: call(itertools.pairwise, _empty),
    itertools.zip_longest: call(itertools.zip_longest),
    itertools.combinations: call(itertools.combinations, _empty, _one),
    itertools.combinations_with_replacement: call(itertools.combinations_with_replacement, _empty, _one),
    itertools.permutations: call(itertools.permutations, _empty, _one),
    itertools.groupby: call(itertools.groupby, _empty),
}
