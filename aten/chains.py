"""Composites made of elementwise ops as one pass over memory, without a compiler.

A call of such an op is traced once for its dtypes and numbers; what it consists of runs as a chain of the eager loops, block by
block (`native/chain.cpp`), so the numbers are those of the ops one after the other. Later calls of the kind do not enter Python.
With history there is one Node, whose backward is a chain as well; where that is itself recorded, it is the composite's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from aten import _native
from aten import dtype as dtypes
from aten._native import Tensor
from aten.autograd.engine import grad
from aten.autograd.grad_mode import enable_grad, inference_mode, no_grad
from aten.fx.node import Node
from aten.meta import Meta
from aten.op import Op, registry
from aten.scalar.composites import whole_loop
from aten.scalar.unpatched import math
from aten.transforms.trace import make_fx

_NAMES = [name for name, _ in _native.pointwise_rows()]
_CODES = {name: code for code, name in enumerate(_NAMES)}
_WHOLE_FLOATS = (dtypes.float32.code, dtypes.float64.code)
THROUGH = ("alias", "detach", "clone", "row_major", "view", "expand")  # what gives its argument again, where sizes are the same
_REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, ArithmeticError)


class _NoChain(Exception):
    """Something of the graph is no elementwise loop."""


class _Builder:
    """The steps of a chain, from the graph of a call on tensors of some sizes."""

    def __init__(self, sizes: tuple[int, ...]):
        self.sizes = sizes
        self.inputs: list[Any] = []  # dtypes
        self.constants: list[tuple[Any, int]] = []
        self.known: dict[Any, Any] = {}  # the value of a constant or a step that is there already
        self.steps: list[tuple[str, int, int, tuple[Any, ...], Any]] = []  # kind, code, dtype, values, dtype of the result
        self.values: dict[Node, Any] = {}  # ("input", i), ("constant", number) or ("step", i)

    def add(self, node: Node) -> Any:
        """What stands for a node."""
        op, meta = node.target, node.meta["val"]
        if not isinstance(op, Op) or type(meta) is not Meta:
            raise _NoChain
        name = op.name
        if name == "full":
            return "constant", node.args[1]
        first = self.values.get(node.args[0]) if node.args and isinstance(node.args[0], Node) else None
        if name in THROUGH and first is not None and (first[0] == "constant" or tuple(meta.sizes) == self.sizes):
            return first
        if tuple(meta.sizes) != self.sizes:
            raise _NoChain
        if name == "cast":
            return self.step("cast", self.dtype_of(node.args[0]).code, meta.dtype, [(node.args[0], None)], meta.dtype)
        if name == "where":
            operands = [(a, meta.dtype) for a in node.args[1:]]
            return self.step("where", 0, meta.dtype, [(node.args[0], None), *operands], meta.dtype)
        args = list(node.args)
        if name == "gelu":
            name, args = ("gelu_tanh" if node.kwargs.get("approximate") == "tanh" else "gelu"), args[:1]
        elif name == "clamp":
            if not meta.dtype.is_floating_point:
                raise _NoChain
            args[1:] = [default if a is None else a for a, default in zip(args[1:], (-math.inf, math.inf))]
        elif node.kwargs:
            raise _NoChain
        found = {self.dtype_of(a) for a in args if isinstance(a, Node) and self.values[a][0] != "constant"}
        if name not in _CODES or len(found) != 1:
            raise _NoChain
        dtype = found.pop()
        return self.step("pointwise", _CODES[name], dtype, [(a, dtype) for a in args], meta.dtype)

    def dtype_of(self, node: Any) -> Any:
        return node.meta["val"].dtype

    def step(self, kind: str, code: int, dtype: Any, operands: Sequence[tuple[Any, Any]], made: Any) -> Any:
        values = []
        for a, wanted in operands:
            value = self.values[a] if isinstance(a, Node) else ("constant", a)
            if value[0] == "constant":
                if wanted is None or not isinstance(value[1], (bool, int, float)) or not _is_exact(value[1], wanted):
                    raise _NoChain
                value = self.constant(value[1], wanted.code)
            elif wanted is not None and self.dtype_of(a) is not wanted:
                raise _NoChain
            values.append(value)
        step = kind, code, dtype.code, tuple(values), made
        if step not in self.known:
            self.steps.append(step)
            self.known[step] = "step", len(self.steps) - 1
        return self.known[step]

    def constant(self, number: Any, code: int) -> Any:
        key = type(number), repr(number), code  # -0.0 is not 0.0
        if key not in self.known:
            self.constants.append((number, code))
            self.known[key] = "constant", len(self.constants) - 1
        return self.known[key]

    def fused(self, outputs: list[Any]) -> None:
        """One step in place of all where their result is what a loop of the vocabulary computes."""
        if outputs[0][0] != "step" or len(self.steps) < 2 or not self.follow(outputs):
            return
        value, half = outputs[0], None
        kind, code, _, values, made = self.steps[value[1]]
        if kind == "cast" and made in (dtypes.float16, dtypes.bfloat16) and code == dtypes.float32.code and values[0][0] == "step":
            value, half = values[0], made  # half types compute in float32 and round once
        dtype = half or made
        if any(d is not dtype for d in self.inputs) or dtype.code not in (*_WHOLE_FLOATS, getattr(half, "code", None)):
            return
        try:
            found = whole_loop(self.expression(value, half))
        except _NoChain:
            return
        if found is None or not all(type(a) is tuple or _is_exact(a, dtype) for a in found[1]):
            return
        operands = [a if type(a) is tuple else self.constant(a, dtype.code) for a in found[1]]
        again = [self.steps[v[1]][:3] for v in outputs[1:]]
        self.steps[:] = [("pointwise", _CODES[found[0]], dtype.code, tuple(operands), dtype)]
        self.steps += [(*step, (("step", 0),), dtype) for step in again]
        outputs[:] = [("step", k) for k in range(len(outputs))]

    def follow(self, outputs: list[Any]) -> bool:
        """Whether the results after the first are each one step of it, as gradients of a difference are: one is minus the other."""
        dtype = self.steps[outputs[0][1]][4]
        rest = [self.steps[v[1]] if v[0] == "step" else None for v in outputs[1:]]
        return all(s is not None and s[0] == "pointwise" and s[3] == (outputs[0],) and s[4] is dtype for s in rest)

    def expression(self, value: Any, half: Any) -> Any:
        """A value as a tree: (op, *operands), ("input", i), or a number. `half`: the dtype of inputs whose casts are left out."""
        if value[0] != "step":
            return value if value[0] == "input" else self.constants[value[1]][0]
        kind, code, dtype, values, made = self.steps[value[1]]
        if kind == "cast":
            if half is None or code != half.code or values[0][0] != "input":
                raise _NoChain
            return values[0]
        if made is not dtypes.bool and dtype not in (_WHOLE_FLOATS if half is None else _WHOLE_FLOATS[:1]):
            raise _NoChain
        return (kind if kind == "where" else _NAMES[code], *(self.expression(v, half) for v in values))

    def finish(self, outputs: Sequence[Any]) -> Any:
        """The chain; None where a loop is lacking."""
        start = {"input": 0, "constant": len(self.inputs), "step": len(self.inputs) + len(self.constants)}
        number = lambda value: start[value[0]] + value[1]
        last = {v: k for k, (_, _, _, values, _) in enumerate(self.steps) for v in values if v[0] == "step"}
        free: list[int] = []
        used, buffers, steps = 0, {}, []
        for k, (kind, code, dtype, values, made) in enumerate(self.steps):
            if not free:
                free, used = [used], used + 1
            buffers[k] = free.pop()
            steps.append((kind, code, dtype, tuple(map(number, values)), made.code, buffers[k]))
            free += [buffers[v[1]] for v in dict.fromkeys(values) if v[0] == "step" and last[v] == k]
        if used > 60:
            return None
        return _native.make_chain(
            tuple(d.code for d in self.inputs), tuple(self.constants), tuple(steps), tuple(map(number, outputs))
        )


def _is_exact(number: Any, dtype: Any) -> bool:
    """Whether a half type has the number: alone an op computes with it in float32."""
    half = dtype.itemsize == 2 and dtype.is_floating_point
    return not half or number != number or registry["full"]([], float(number), dtype=dtypes.float64).to(dtype).item() == number


class _Closed(dict):
    """The definitions of ops that have a derivative of their own."""

    def __missing__(self, op: Op) -> Any:
        found = self[op] = op.decompose_fn if {"pointwise", "fused"} <= op.tags else None
        return found

    def get(self, op: Op, default: Any = None) -> Any:
        return self[op]


_closed = _Closed()


class Chain(NamedTuple):
    """A native chain; where the results of the function that it computes are among its own; which inputs it reads."""

    native: Any
    places: list[int | None]
    read: set[int]


def chain_of(function: Any, tensors: Sequence[Tensor]) -> Chain | None:
    """The chain that computes function(*tensors), of tensors of one size; None if it is not elementwise. A result that is None
    has no place."""
    sizes = tuple(tensors[0].shape)
    try:
        with no_grad():
            examples = [t.detach() for t in tensors]
            traced = make_fx(make_fx(function)(*examples), _closed)(*examples)  # derivatives are taken before
    except _REFUSALS:  # the call itself says what is wrong
        return None
    builder = _Builder(sizes)
    outputs: Any = None
    try:
        for node in traced.graph.nodes:
            if node.op == "placeholder":
                builder.values[node] = "input", len(builder.inputs)
                builder.inputs.append(node.meta["val"].dtype)
            elif node.op == "call_function":
                builder.values[node] = builder.add(node)
            elif node.op == "output":
                outputs = node.args[0]
            else:
                raise _NoChain
        flat = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        values = [None if o is None else builder.values[o] if isinstance(o, Node) else ("constant", o) for o in flat]
        wanted = list(dict.fromkeys(v for v in values if v is not None))
        if not wanted or any(v[0] != "step" for v in wanted):
            raise _NoChain
        outputs_of_chain = list(wanted)
        builder.fused(outputs_of_chain)
        chain = builder.finish(outputs_of_chain)
    except _NoChain:
        return None
    if chain is None:
        return None
    read = {v[1] for step in builder.steps for v in step[3] if v[0] == "input"}
    return Chain(chain, [None if v is None else wanted.index(v) for v in values], read)


class Backward:
    """The backward of a composite's Node, which keeps the tensors of the call."""

    def __init__(self, op: Op, public: Sequence[Any]):
        self.op, self.public = op, tuple(public)
        self.at = [i for i, a in enumerate(public) if isinstance(a, Tensor)]
        self.public = tuple(None if i in self.at else a for i, a in enumerate(public))
        self.chains: dict[tuple[bool, ...], Any] = {}  # by which of the tensors want a gradient

    def call(self, tensors: Sequence[Any]) -> Any:
        """The composite in its smaller ops."""
        values = list(self.public)
        for i, t in zip(self.at, tensors):
            values[i] = t
        return self.op.function(*values)

    def exists(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the result has a history whose backward is a chain that reads all tensors of the call: what it does not read
        may be written in place before backward, so it must not be kept."""
        needs = tuple(t.dtype.is_floating_point for t in tensors)
        with inference_mode(False):
            out = self.call([t.new_ones([1]).requires_grad_(f) for t, f in zip(tensors, needs)])
        if not out.requires_grad:
            return False
        g = tensors[0].new_zeros(list(tensors[0].shape), dtype=out.dtype)
        found = chain_of(lambda g, *xs: self.derivatives(g, xs, needs, True), [g, *tensors])
        return found is not None and found.read >= set(range(1, len(tensors) + 1))

    def __call__(self, node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        tensors, g = node.saved, grads[0]
        needs = tuple(t.requires_grad for t in tensors)
        if not _native.is_grad_enabled() and not _native.is_tracer(g):
            if needs not in self.chains:
                self.chains[needs] = chain_of(lambda g, *xs: self.derivatives(g, xs, needs, True), [g, *tensors])
            if self.chains[needs] is not None:
                chain = self.chains[needs]
                found = _native.run_chain(chain.native, (g, *tensors))
                if found is NotImplemented:  # of another layout
                    found = _native.run_chain(chain.native, (g.contiguous(), *tensors))
                if found is not NotImplemented:
                    return tuple(None if p is None else found[p] for p in chain.places)
        return self.derivatives(g, tensors, needs, False)

    def derivatives(self, g: Any, tensors: Sequence[Any], needs: Sequence[bool], apart: bool) -> tuple[Any, ...]:
        """Gradients of the tensors that need one, each for itself, whatever they depend on. `apart`: without history."""
        create = _native.is_grad_enabled()
        with enable_grad():
            leaf = (lambda t: t.detach().requires_grad_()) if apart or not create else registry["alias"]
            tensors = [leaf(t) if need else t for t, need in zip(tensors, needs)]
            out = self.call(tensors)
            wanted = [t for t, need in zip(tensors, needs) if need]
            found = iter(grad(out, wanted, g, create_graph=create, allow_unused=True))
        return tuple(next(found) if need else None for need in needs)


def _is_refused(op: Op, public: Sequence[Any]) -> bool:
    try:
        if op.refuses is not None:
            op.refuses(public)
    except _REFUSALS:
        return True
    return False


def learn(op: Op, public: tuple[Any, ...]) -> None:
    """Have calls with these kinds of arguments run as a chain, if they are one."""
    items = [(a.dtype.code, None) if isinstance(a, Tensor) else (-1, a) for a in public]
    chain, backward = made_for(op, public)
    _native.learn_chain(op, tuple(items), chain, backward)


def made_for(op: Op, public: Sequence[Any]) -> tuple[Any, Backward | None]:
    """The native chain of calls like this one, and the backward of their Node: None where they are none, or have none."""
    simple = all(a is None or isinstance(a, (Tensor, bool, int, float, str)) for a in public)
    tensors = [a for a in public if isinstance(a, Tensor)]
    backward = Backward(op, public)
    found = chain_of(lambda *xs: backward.call(xs), tensors) if simple and not _is_refused(op, public) else None
    chain = found.native if found is not None and len(found.places) == 1 else None
    return chain, backward if chain is not None and backward.exists(tensors) else None


__all__ = ["Backward", "chain_of", "learn", "made_for"]
