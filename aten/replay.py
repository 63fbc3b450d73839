"""What a call comes to, noted once as a program of steps that native code runs (`native/replay.cpp`).

A call that no native rule takes goes through its definition, promotion, shape rules and kernels in Python. All of that follows
from its arguments but for the elements of tensors, so the calls of a kind are traced once: ops that have native rules (or
that record what they do themselves) stay as they are, kernels get results of known layouts, and what does not depend on the
tensors is computed once. A definition that asks for elements, warns or writes its arguments is not replayed.

Of a call with history (which of its tensors require grad is part of its kind) the steps record what the definition would record:
an op that has a native rule itself, of kernels and of what stands for an op with a derivative a step after them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aten import _native, arrays, dispatch, pytree
from aten import dtype as dtypes
from aten._native import Tensor
from aten.autograd.record import record
from aten.derivative import is_lost
from aten.dispatch import needs_of
from aten.dtype import device
from aten.errors import DataDependentError
from aten.fx.graph import Graph
from aten.fx.node import Node, map_arg, may_raise
from aten.learners import NEVER, whole
from aten.meta import Meta
from aten.op import Op
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import meta_of_call, opened, public

_CPU = device("cpu")
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError, AssertionError, DataDependentError)
_MOST_STEPS = 300
_MOST_BYTES = 1 << 16  # of a value that is kept


class _NoProgram(Exception):
    """The call is none to be replayed."""


class _Later(int):
    """A number that a step will give: it may be handed on, not computed with."""

    node: Any

    def _refuse(self, *others: Any) -> Any:
        raise _NoProgram

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = __and__ = __rshift__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = _refuse  # type: ignore[assignment]
    __hash__ = int.__hash__


class _Recorder(TraceLevel):
    """Records what a call of `top` does as ops that native code can call.

    needing: the values that require grad. recorded: which core arguments want a gradient of the Nodes that the call makes; None of
    an op that sees to it itself.
    """

    def __init__(self, graph: Graph, top: Any):
        super().__init__(graph)
        self.top = top
        self.needing: set[Node] = set()
        self.recorded: dict[Node, tuple[Any, ...] | None] = {}

    def handle(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = [self.payload_of(t) for t in _tensors(args) if self.own(t)] if op in whole else []
        if any(op is not self.top or node.op != "placeholder" for node in given):
            return self._whole(op, op.join(args, kwargs))
        if op.name in _SEVERAL_VIEWS and op is not self.top and _native.is_grad_enabled() and args[0].requires_grad:
            return self._whole(op, op.join(args, kwargs))
        if op.kind == "composite":
            return NotImplemented
        return super().handle(op, args, kwargs)

    def _whole(self, op: Op, args: tuple[Any, ...]) -> Any:
        made = meta_of_call(op, args)
        positional, keywords = op.split(tuple([self.payload_of(a) for a in args]))
        if type(made) is not Meta and op.name not in _SEVERAL_VIEWS:
            raise _NoProgram
        node = self.graph.create_node("call_function", op, positional, keywords, None, made)
        result = self._results(node, made)
        if _native.is_grad_enabled() and any(t.requires_grad for t in _tensors(args)):
            self.recorded[node] = None
            for one in result if type(result) is tuple else (result,):
                if one.dtype.is_floating_point or one.dtype.is_complex:
                    self.needing.add(one.payload)
                    self.leaf(one)
        return result

    def _results(self, node: Node, metas: Any) -> Any:
        """The results of a node as Tracers."""
        if type(metas) is not tuple:
            return self.make(node, metas)
        items = [self.graph.create_node("call_function", operator.getitem, (node, i), None, None, m) for i, m in enumerate(metas)]
        return tuple(map(self.make, items, metas))

    def record(self, op: Op, args: tuple[Any, ...], result: Any) -> None:
        super().record(op, args, result)
        needs = needs_of(op, args, self.takes)
        if needs is None or (op.vjp_fn is None and not is_lost(op, result)):
            return
        results = result if type(result) is tuple else (result,)
        self.needing.update(r.payload for r in results if r.requires_grad)
        self.recorded[results[0].payload.args[0] if type(result) is tuple else result.payload] = needs

    def assign(self, target: Any, result: Any) -> None:
        if target.requires_grad or result.requires_grad:
            raise _NoProgram  # the history of what is written is kept by eager code alone
        super().assign(target, result)

    def call_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], asked: tuple[Any, ...], place: int) -> Any:
        if any(t.requires_grad for t in _tensors(args)):
            raise _NoProgram
        return NotImplemented

    def payload_of(self, a: Any) -> Any:
        return a.node if type(a) is _Later else super().payload_of(a)

    def process(self, op: Op, args: tuple[Any, ...]) -> Any:
        if op.name in NEVER or op.traced_fn is not None or ("dynamic" in op.tags and op.name != "philox_reserve"):
            raise _NoProgram
        if op.name == "philox_reserve":
            node = self.graph.create_node("call_function", op, args, {}, None, (None, None))
            numbers = []
            for i in range(2):
                numbers.append(_Later(0))
                numbers[i].node = self.graph.create_node("call_function", operator.getitem, (node, i), None, None, None)
            return tuple(numbers)
        needs = needs_of(op, args, self.takes) if _native.is_grad_enabled() else None
        if needs is not None and op.recorded_fn is not None:
            with opened(self):
                return op.recorded_fn(*args)
        if op.kernel_fn is None and op.decompose_fn is not None and op.anywhere_fn is None:
            if needs is not None and op.vjp_fn is not None:
                return public(op, self._made_apart(op, args))
            with opened(self):
                return op.decompose_fn(*args)
        return super().process(op, args)

    def _made_apart(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The result of an op's decomposition, of which only the op is recorded."""
        before = _native.set_grad_enabled(False)
        try:
            with opened(self):
                result = op.decompose_fn(*args)
        finally:
            _native.set_grad_enabled(before)
        results = result if type(result) is tuple else (result,)
        values = [self.payload_of(r) for r in results if self.own(r)]
        if len(values) != len(results) or any(v.op != "call_function" for v in values):
            raise _NoProgram
        metas = tuple([r.meta for r in results])
        given = (op, *map(self.payload_of, args), tuple(values) if type(result) is tuple else values[0])
        meta: Any = metas if type(result) is tuple else metas[0]
        result = self._results(self.graph.create_node("call_function", _recorded, given, {}, None, meta), meta)
        self.record(op, args, result)
        return result


def _recorded(op: Op, *values: Any) -> Any:
    """The last of the values, results of steps that recorded nothing, as those of the op with the others as arguments."""
    return values[-1]


def _record(op: Op, needs: tuple[Any, ...], *values: Any) -> Any:
    record(op, values[:-1], values[-1], needs)
    return values[-1]


def _traced(top: Any, function: Callable[[Sequence[Any]], Any], tensors: Sequence[Tensor]) -> tuple[_Recorder, Any]:
    """function(tensors), recorded, and its result, in Nodes."""
    graph = Graph()
    level = _Recorder(graph, top)
    recording = _native.is_grad_enabled() and any(t.requires_grad for t in tensors)
    inputs = [level.placeholder(f"arg{i}", Meta.of(t.detach()), recording and t.requires_grad) for i, t in enumerate(tensors)]
    level.needing.update(t.payload for t in inputs if t.requires_grad)
    _native.asked_for_tracer()
    before = _native.set_grad_enabled(recording)
    try:
        with opened(level):
            result = function(inputs)
        if _native.asked_for_tracer():
            raise _NoProgram
        for t in inputs:
            if t._version:
                raise _NoProgram
        leave = _leaver(level)
        result = leave(result)
    finally:
        _native.set_grad_enabled(before)
    graph.constants = level.constants  # type: ignore[attr-defined]
    graph.output(_nodes_of(result))
    if any(may_raise(node) and not node.users for node in graph.nodes):  # a check: a program has but what its result is made of
        raise _NoProgram
    graph.eliminate_dead_code()
    return level, result


def _leaver(level: _Recorder) -> Callable[[Any], Any]:
    def leave(value: Any) -> Any:
        if isinstance(value, Tensor):
            payload = level.payload_of(value)
            if value.requires_grad and payload not in level.needing:  # it was told to
                raise _NoProgram
            return payload
        if type(value) in (list, tuple):
            return type(value)(map(leave, value))
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(map(leave, value))
        if value is None:
            return None
        raise _NoProgram

    return leave


def _nodes_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_nodes_of, value))
    return value


class _Writer:
    """The steps of what was recorded."""

    def __init__(self, level: _Recorder, n_inputs: int, owner: Any):
        self.graph, self.needing, self.recorded, self.owner = level.graph, level.needing, level.recorded, owner
        self.slots: dict[Node, int] = {}
        self.constants: dict[Node, Any] = {}
        self.steps: list[list[Any]] = []
        self.n = n_inputs
        self.kept = 0

    def operand(self, value: Any) -> tuple[int, Any]:
        if isinstance(value, Node):
            return (1, self.constants[value]) if value in self.constants else (0, self.slots[value])
        if type(value) in (list, tuple) and any(isinstance(v, (Node, list, tuple)) for v in value):
            return (2 if type(value) is list else 3), [self.operand(v) for v in value]
        if type(value) is _Later:
            raise _NoProgram
        return 1, value

    def add(
        self, node: Node, kind: int, function: Any, operands: list[Any], layouts: Any = (), several: bool = False, *, item: int = 0,
        names: Any = None, apart: bool = False,
    ) -> None:  # fmt: skip
        self.slots[node] = self.n
        self.n += 1
        self.steps.append([kind, function, names, operands, list(layouts), several, item, apart, ()])

    def step(self, node: Node) -> None:
        op = node.target
        if op is operator.getitem:
            self.add(node, 2, None, [self.operand(node.args[0])], item=node.args[1])
            return
        if op is _recorded:
            op, *args, result = node.args
            self.record(node, op, args, self.operand(result))
            return
        if not isinstance(op, Op):
            raise _NoProgram
        if op.name == "philox_reserve":
            self.add(node, 0, _native.philox_reserve, [self.operand(a) for a in node.args])
            return
        needs = self.recorded.get(node)
        if needs is not None and not self.takes_with_history(node) and self.apart_from_history(node, op):
            self.record(node, op, op.join(node.args, node.kwargs), (0, self.slots[node]))
            return
        if node not in self.recorded and self.kernel(node, op):
            return
        if op is self.owner and not (node in self.recorded and self.takes_with_history(node)):
            raise _NoProgram  # it would call itself
        self.call(node, op, apart=node not in self.recorded and self.reads(node, self.needing))

    def call(self, node: Node, op: Op, apart: bool) -> None:
        names = tuple(node.kwargs)
        values = [self.operand(a) for a in node.args] + [self.operand(node.kwargs[k]) for k in names]
        self.add(node, 0, op, values, names=names or None, apart=apart)

    def apart_from_history(self, node: Node, op: Op) -> bool:
        """Compute a value of which a step after this one records where it came from."""
        if _native.has_rule(op) and self.rule_takes(node):
            self.call(node, op, apart=True)
            return True
        return self.kernel(node, op)

    def kernel(self, node: Node, op: Op) -> bool:
        """Compute a value by a kernel, if there is one for it."""
        native = self.native_kernel(node)
        if native is not None:
            self.add(node, 3, native, [self.operand(a) for a in op.join(node.args, node.kwargs)], *_layouts(node))
            return True
        kernel = None if self.native_kernel(node, row_major=True) else self.kernel_step(node)
        if kernel is not None:
            self.add(node, 1, op.kernel_fn, *kernel)
        return kernel is not None

    def record(self, node: Node, op: Op, args: Sequence[Any], result: tuple[int, Any]) -> None:
        """Record values that are there as those of the op."""
        needs: Any = self.recorded[node]
        operands = [*map(self.operand, args), result]
        if op.vjp_fn is None or any(type(need) is tuple for need in needs):
            self.add(node, 0, functools.partial(_record, op, needs), operands)
        else:
            self.add(node, 4, op, operands, item=sum(need << i for i, need in enumerate(needs)))

    def reads(self, node: Node, values: Any) -> bool:
        """Whether one of the values is an argument of the node."""
        found: list[bool] = []
        map_arg((node.args, node.kwargs), lambda n: found.append(n in values))
        return any(found)

    def takes_with_history(self, node: Node) -> bool:
        """Whether the native rule of the node's op takes the call and records it."""
        before = _native.set_grad_enabled(True)
        try:
            return _native.has_rule(node.target) and self.rule_takes(node, self.needing)
        finally:
            _native.set_grad_enabled(before)

    def kernel_step(self, node: Node) -> tuple[Any, Any, bool] | None:
        """The operands and layouts of a core op that NumPy computes, where its kernel takes the memory as it is."""
        op: Any = node.target
        if op.kernel_fn is None or op.kind in ("composite", "view", "inplace") or "dynamic" in op.tags:
            return None
        if _native.has_rule(op) and self.rule_takes(node):
            return None
        args = op.join(tuple(node.args), dict(node.kwargs))
        made = node.meta["val"]
        metas = made if type(made) is tuple else (made,)
        values = [n.meta["val"] for a in args for n in (a if type(a) is list else [a]) if isinstance(n, Node)]
        found = [m for m in (*metas, *values) if type(m) is Meta]
        if any(m.device != _CPU or m.dtype is dtypes.complex32 for m in found) or any(type(m) is not Meta for m in metas):
            return None
        if op.compute and any(m.dtype.itemsize == 2 and m.dtype.is_floating_point for m in found):
            return None
        if "scalars" in op.tags:
            if not any(isinstance(n, Node) for n in args):
                return None
            # (Of the operands: the condition of `where` is none.)
            operands = [n.meta["val"] for p, n in zip(op.core, args) if p.type == "Tensor" and isinstance(n, Node)]
            of = (operands or metas)[0].dtype
            args = tuple(
                arrays.as_number(a, of.to_numpy()) if p.numbers and isinstance(a, (bool, int, float, complex)) else a
                for p, a in zip(op.core, args)
            )
        return [self.operand(a) for a in args], *_layouts(node)

    def rule_takes(self, node: Node, needing: Any = ()) -> bool:
        """Whether the native rule of the node's op takes the call; asked of tensors with the same layouts. needing: those of
        the values that require grad."""
        op: Any = node.target
        example = lambda n: _example(n).requires_grad_() if n in needing else _example(n)
        args, kwargs = map_arg((tuple(node.args), dict(node.kwargs)), example)
        try:
            return _native.by_rule(op, args, kwargs) is not NotImplemented
        except _REFUSALS:
            return True

    def native_kernel(self, node: Node, row_major: bool = False) -> Any:
        """The op's native kernel if no rule comes before it and it takes the call, of halves perhaps with float32 for them; asked
        alike. row_major: with results so that lie otherwise, which the call of the op copies."""
        op: Any = node.target
        if op.native_fn is None or (_native.has_rule(op) and self.rule_takes(node)):
            return None
        made = node.meta["val"]
        metas = made if type(made) is tuple else (made,)
        if any(type(m) is not Meta or m.device != _CPU for m in metas) or (row_major and all(m.is_contiguous() for m in metas)):
            return None
        if row_major:
            made = tuple(m.like(sizes=m.sizes) for m in made) if type(made) is tuple else made.like(sizes=made.sizes)
        example = (lambda n: _example(n, 1)) if op.name in _NO_ZEROS else _example
        args = op.join(*map_arg((tuple(node.args), dict(node.kwargs)), example))
        out = tuple(map(dispatch.allocate, made)) if type(made) is tuple else dispatch.allocate(made)
        kernels = [op.native_fn, *([_native.widened(op.native_fn)] if op.compute == "float32" else [])]
        return next((kernel for kernel in kernels if kernel(out, *args) is not NotImplemented), None)

    def fold(self, node: Node) -> bool:
        """Compute the node now if it does not depend on the tensors of the call."""
        op, val = node.target, node.meta.get("val")
        if not isinstance(op, Op) or type(val) is not Meta or op.kind == "random" or "random" in op.tags:
            return False
        nodes: list[Node] = []
        map_arg((node.args, node.kwargs), nodes.append)
        if any(n not in self.constants for n in nodes) or self.views_of_result(node):
            return False
        size = val.numel() * val.dtype.itemsize
        if size > _MOST_BYTES or self.kept + size > 4 * _MOST_BYTES:
            return False
        self.kept += size
        args, kwargs = map_arg((node.args, node.kwargs), self.constants.__getitem__)
        with dispatch.no_grad():
            self.constants[node] = op(*args, **kwargs)
        return True

    def start(self, node: Node) -> bool:
        """Have one element stand for a tensor of one number that is only copied, by what writes other elements into the copy."""
        op = node.target
        if not isinstance(op, Op) or op.name != "full" or self.views_of_result(node) or not node.users:
            return False
        if any(not isinstance(u.target, Op) or u.target.name not in _COPY_FIRST or u.args.count(node) != 1 for u in node.users):
            return False
        if any(u.args[0] is not node or node in u.kwargs.values() or not _native.has_rule(u.target) for u in node.users):
            return False
        sizes, number = node.args[:2]
        if type(number) not in (bool, int, float) or node.meta["val"].device != _CPU:
            return False
        with dispatch.no_grad():
            self.constants[node] = op([], number, **node.kwargs).expand(sizes)
        return True

    def views_of_result(self, node: Node) -> bool:
        """Whether the result of the call may show the memory of this value."""
        waiting, seen = [node], set()
        while waiting:
            at = waiting.pop()
            for user in at.users:
                if user.op == "output":
                    return True
                shows = not isinstance(user.target, Op) or user.target.kind in ("view", "composite") or user.target.name == "cast"
                if user not in seen and shows:
                    seen.add(user)
                    waiting.append(user)
        return False

    def program(self, result: Any) -> Any:
        """The native program."""
        for node in self.graph.nodes:
            if node.op == "placeholder":
                self.slots[node] = len(self.slots)
            elif node.op == "get_attr":
                if self.views_of_result(node):
                    raise _NoProgram
                self.constants[node] = self.graph.constants[node.target]  # type: ignore[attr-defined]
            elif node.op == "call_function" and not self.fold(node) and not self.start(node):
                self.step(node)
                if len(self.steps) > _MOST_STEPS:
                    raise _NoProgram
        for node in {n for n in pytree.leaves(_nodes_of(result)) if isinstance(n, Node) and n in self.slots and _shows_made(n)}:
            self.add(node, 0, _own, [self.operand(node)])
        self.release(result)
        wrapper = None
        if isinstance(result, tuple) and hasattr(result, "_make"):
            wrapper, result = type(result)._make, tuple(result)
        steps = [(*step[:8], tuple(step[8])) for step in self.steps]
        inputs = sum(node.op == "placeholder" for node in self.graph.nodes)
        return _native.make_program(inputs, steps, self.operand(result), wrapper)

    def release(self, result: Any) -> None:
        """Have each step let go of the values that are read there for the last time."""
        first = self.n - len(self.steps)
        last: dict[int, int] = {}

        def read(operand: tuple[int, Any], k: int) -> None:
            if operand[0] == 0:
                last[operand[1]] = k
            elif operand[0] >= 2:
                for o in operand[1]:
                    read(o, k)

        for k, step in enumerate(self.steps):
            last.setdefault(first + k, k)
            for operand in step[3]:
                read(operand, k)
        read(self.operand(tuple(result) if isinstance(result, tuple) else result), len(self.steps))
        for slot, k in last.items():
            if k < len(self.steps):
                self.steps[k][8] = (*self.steps[k][8], slot)


def _shows_made(node: Node) -> bool:
    """Whether a value is a view of memory that a step makes."""
    shown, view = node, False
    while shown.op == "call_function":
        op, of = shown.target, shown.args[0]
        if op is _recorded:
            of = shown.args[-1]
        elif op is operator.getitem and of.target is _recorded:  # type: ignore[union-attr]
            of = of.args[-1][shown.args[1]]  # type: ignore[union-attr, index]
        elif isinstance(op, Op) and (op.kind == "view" or op.name in _SEVERAL_VIEWS):
            view = True
        elif op is not operator.getitem or getattr(of.target, "name", "") not in _SEVERAL_VIEWS:  # type: ignore[union-attr]
            break
        shown = of  # type: ignore[assignment]
    return view and shown.op == "call_function"


def _own(result: Tensor) -> Tensor:
    """A result that is no view: nothing else shows its memory."""
    result._view_of = None
    return result


# Composites with native rules that make views of their argument which are results of one Node.
_SEVERAL_VIEWS = frozenset({"split", "chunk", "unbind"})

# Whose rules copy the first argument, whatever layout it has, into a row-major result.
_COPY_FIRST = frozenset("scatter scatter_add index_add index_put".split())

# Whose kernels take no zeros: divisions, and row exchanges, which count from 1.
_NO_ZEROS = frozenset("floor_divide remainder fmod truncated_quotient lu_solve_matrix permutation_of".split())


def _example(node: Node, whole: int = 0) -> Any:
    """A tensor in the layout of a value of a graph; 0 for a number that a step gives. Integers are `whole`, floats halves with ones
    in the diagonals of matrices: there are kernels that do not take singular ones, or probabilities of 0."""
    val = node.meta["val"]
    if val is None:
        return 0
    if type(val) is not Meta:
        raise _NoProgram
    span = 1 + sum((n - 1) * s for n, s in zip(val.sizes, val.strides)) if val.numel() else 0
    floats = (val.dtype.is_floating_point or val.dtype.is_complex) and val.dtype.itemsize > 1
    memory = _native.empty([span], val.dtype, val.device)
    made = _native.alias(memory.fill_(0.5 if floats else whole), val.sizes, val.strides, 0)
    if val.ndim > 1 and val.dtype.itemsize >= 4 and floats:
        k = min(val.sizes[-2:])
        np.einsum("...ii->...i", arrays.array(made)[..., :k, :k])[...] = 1
    return made


def _layouts(node: Node) -> tuple[list[Any], bool]:
    """Dtype, sizes and strides of each result of a node; whether they are a tuple."""
    made = node.meta["val"]
    metas = made if type(made) is tuple else (made,)
    return [(m.dtype.code, tuple(m.sizes), tuple(m.strides)) for m in metas], type(made) is tuple


def _tensors(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for v in values:
        if isinstance(v, Tensor):
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += _tensors(v)
    return found


def _with(values: Any, tensors: Any) -> Any:
    """The values with their tensors replaced, in order."""
    out = []
    for v in values:
        if isinstance(v, Tensor):
            out.append(next(tensors))
        elif type(v) in (list, tuple):
            out.append(type(v)(_with(v, tensors)))
        else:
            out.append(v)
    return out


def learn(owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The program of such a call; None if it has none. `owner`: an Op, or the Plan of a vjp (a gradient, what is saved)."""
    names = list(kwargs)
    values = (*args, *kwargs.values())
    tensors = _tensors(values)

    def call(inputs: Sequence[Any]) -> Any:
        given = _with(values, iter(inputs))
        if isinstance(owner, Op):
            return dispatch.call(owner, given[: len(args)], dict(zip(names, given[len(args) :])))
        return tuple(owner.gradients(given[0], given[1:]))

    try:
        level, result = _traced(owner, call, tensors)
        return _Writer(level, len(tensors), owner).program(result)
    except _NoProgram:
        return None
    except _REFUSALS:  # the call itself says what is wrong
        return None


__all__ = ["learn"]
