"""What a call comes to, noted once as a program of steps that native code runs (`native/replay.cpp`).

A call that no native rule takes goes through its definition, promotion, shape rules and kernels in Python. All of that follows
from its arguments but for the elements of tensors, so the calls of a kind are traced once: ops that have native rules (or
that record what they do themselves) stay as they are, kernels get results of known layouts, and what does not depend on the
tensors is computed once. A definition that asks for elements, warns or writes its arguments is not replayed.

Of a call with history (which of its tensors require grad is part of its kind) the steps record what the definition would record:
an op that has a native rule itself, of kernels and of what stands for an op with a derivative a step after them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from aten import _native, arrays, dispatch, pytree
from aten import dtype as dtypes
from aten._native import Tensor
from aten.dtype import device
from aten.errors import DataDependentError
from aten.fx.node import Node, map_arg
from aten.meta import Meta
from aten.op import Op
from aten.replay_trace import SEVERAL_VIEWS, Later, NoProgram, Recorder, as_recorded, nodes_of, record_values, tensors_of, traced
from aten.scalar.unpatched import functools

_CPU = device("cpu")
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError, AssertionError, DataDependentError)
_MOST_STEPS = 300
_MOST_BYTES = 1 << 16  # of a value that is kept


class _Writer:
    """The steps of what was recorded."""

    def __init__(self, level: Recorder, n_inputs: int, owner: Any):
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
        if type(value) is Later:
            raise NoProgram
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
        if op is as_recorded:
            op, *args, result = node.args
            self.record(node, op, args, self.operand(result))
            return
        if not isinstance(op, Op):
            raise NoProgram
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
            raise NoProgram  # it would call itself
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
            self.add(node, 0, functools.partial(record_values, op, needs), operands)
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
                    raise NoProgram
                self.constants[node] = self.graph.constants[node.target]  # type: ignore[attr-defined]
            elif node.op == "call_function" and not self.fold(node) and not self.start(node):
                self.step(node)
                if len(self.steps) > _MOST_STEPS:
                    raise NoProgram
        for node in {n for n in pytree.leaves(nodes_of(result)) if isinstance(n, Node) and n in self.slots and _shows_made(n)}:
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
        if op is as_recorded:
            of = shown.args[-1]
        elif op is operator.getitem and of.target is as_recorded:  # type: ignore[union-attr]
            of = of.args[-1][shown.args[1]]  # type: ignore[union-attr, index]
        elif isinstance(op, Op) and (op.kind == "view" or op.name in SEVERAL_VIEWS):
            view = True
        elif op is not operator.getitem or getattr(of.target, "name", "") not in SEVERAL_VIEWS:  # type: ignore[union-attr]
            break
        shown = of  # type: ignore[assignment]
    return view and shown.op == "call_function"


def _own(result: Tensor) -> Tensor:
    """A result that is no view: nothing else shows its memory."""
    result._view_of = None
    return result


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
        raise NoProgram
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
    tensors = tensors_of(values)

    def call(inputs: Sequence[Any]) -> Any:
        given = _with(values, iter(inputs))
        if isinstance(owner, Op):
            return dispatch.call(owner, given[: len(args)], dict(zip(names, given[len(args) :])))
        return tuple(owner.gradients(given[0], given[1:]))

    try:
        level, result = traced(owner, call, tensors)
        return _Writer(level, len(tensors), owner).program(result)
    except NoProgram:
        return None
    except _REFUSALS:  # the call itself says what is wrong
        return None


__all__ = ["learn"]
