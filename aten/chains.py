"""Composites made of elementwise ops as one pass over memory, without a compiler.

A call of such an op is traced once for its dtypes and numbers; what it consists of runs as a chain of the eager loops, block by
block (`native/chain.cpp`), so the numbers are those of the ops one after the other. Later calls of the kind do not enter Python.
With history there is one Node, whose backward is a chain as well and which keeps what that reads; where it is itself recorded, it
is the composite's own.
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

    def read(self, outputs: Sequence[Any]) -> set[int]:
        """The inputs that the outputs depend on."""
        seen: set[Any] = set()
        waiting = list(outputs)
        while waiting:
            value = waiting.pop()
            if value not in seen and value[0] == "step":
                waiting += self.steps[value[1]][3]
            seen.add(value)
        return {value[1] for value in seen if value[0] == "input"}

    def finish(self, outputs: Sequence[Any], inputs: Sequence[int]) -> Any:
        """The chain of those inputs; None where a loop is lacking."""
        start = {"constant": len(inputs), "step": len(inputs) + len(self.constants)}
        number = lambda value: inputs.index(value[1]) if value[0] == "input" else start[value[0]] + value[1]
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
            tuple(self.inputs[i].code for i in inputs), tuple(self.constants), tuple(steps), tuple(map(number, outputs))
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
    """A function of tensors: results[i] is what stands for its i-th result (None, or as in `_Builder.values`), a "step" one of
    those of the native chain, which there is if there are any, on `inputs`."""

    native: Any
    results: list[Any]
    inputs: list[int]

    def __call__(self, tensors: Sequence[Any]) -> list[Any] | None:
        """The function's results, if the tensors that it reads are of one size and row-major or spread."""
        found: Any = ()
        if self.native is not None:
            found = _native.run_chain(self.native, tuple([tensors[i] for i in self.inputs]))
            if found is NotImplemented:
                return None
        first, made = tensors[0], []
        for value in self.results:
            if value is not None and value[0] == "constant":
                made.append(registry["full"](list(first.shape), value[1], dtype=value[2]))
            else:
                made.append(None if value is None else first if value[0] == "input" else found[value[1]])
        return made


def chain_of(function: Any, tensors: Sequence[Tensor], all_inputs: bool = False) -> Chain | None:
    """The chain that computes function(*tensors), of tensors of one size; None if it is not elementwise. Of what is given it may
    give the first again. all_inputs: it takes also what it does not read."""
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
        if any(v is not None and v[0] == "input" and v[1] > 0 for v in values):
            raise _NoChain
        wanted = list(dict.fromkeys(v for v in values if v is not None and v[0] == "step"))
        inputs = list(range(len(builder.inputs))) if all_inputs else sorted(builder.read(wanted))
        results = [
            v if v is None or v[0] == "input" else ("step", wanted.index(v)) if v[0] == "step" else (*v, o.meta["val"].dtype)
            for v, o in zip(values, flat)
        ]
        native = None
        if wanted and inputs:
            builder.fused(wanted)
            native = builder.finish(wanted, inputs)
    except _NoChain:
        return None
    return Chain(native, results, inputs) if native is not None or not wanted else None


class Backward:
    """The backward of a composite's Node, which keeps the tensors of the call that it reads and None for others."""

    def __init__(self, op: Op, public: Sequence[Any]):
        self.op, self.public = op, tuple(public)
        self.at = [i for i, a in enumerate(public) if isinstance(a, Tensor)]
        self.dtypes = [public[i].dtype for i in self.at]
        self.public = tuple(None if i in self.at else a for i, a in enumerate(public))
        self.chains: dict[tuple[bool, ...], Chain | None] = {}  # by which of the tensors want a gradient

    def call(self, tensors: Sequence[Any]) -> Any:
        """The composite in its smaller ops."""
        values = list(self.public)
        for i, t in zip(self.at, tensors):
            values[i] = t
        return self.op.function(*values)

    def chain(self, needs: tuple[bool, ...]) -> Chain | None:
        """The gradients of the tensors that want one, from that of the result and the tensors; None if they are no chain."""
        if needs not in self.chains:
            examples = [registry["ones"]([1], dtype=d) for d in self.dtypes]
            with inference_mode(False), enable_grad():
                out = self.call([t.detach().requires_grad_(need) for t, need in zip(examples, needs)])
            found = None
            if out.requires_grad:
                g = registry["ones"]([1], dtype=out.dtype)
                found = chain_of(lambda g, *xs: self.derivatives(g, xs, needs, True), [g, *examples])
            self.chains[needs] = found
        return self.chains[needs]

    def kept(self, wanting: int) -> int:
        """Which tensors a Node keeps, bit by bit, of a call in which those of the bits `wanting` want a gradient: what backward
        does not read may be written before. -1: such calls have no Node of their own."""
        needs = tuple(bool(wanting >> i & 1) for i in range(len(self.at)))
        found = self.chain(needs)
        return -1 if found is None else sum(1 << i - 1 for i in found.inputs if i)

    def __call__(self, node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        tensors, g, needs = node.saved, grads[0], node.needs
        chain = self.chain(needs)
        if chain is not None and not _native.is_grad_enabled() and not _native.is_tracer(g):
            found = chain((g, *tensors))
            if found is None:  # the gradient is of another layout
                found = chain((g.contiguous(), *tensors))
            if found is not None:
                return tuple(found)
        some = lambda t, dtype: registry["zeros"](list(g.shape), dtype=dtype, device=g.device) if t is None else t
        return self.derivatives(g, list(map(some, tensors, self.dtypes)), needs, False)

    def derivatives(self, g: Any, tensors: Sequence[Any], needs: Sequence[bool], apart: bool) -> tuple[Any, ...]:
        """Gradients of the tensors that need one, each for itself, whatever they depend on. `apart`: without history."""
        create = _native.is_grad_enabled()
        with enable_grad():
            leaf = lambda t: registry["alias"](t) if create and not apart and t.requires_grad else t.detach().requires_grad_()
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
    found = chain_of(lambda *xs: backward.call(xs), tensors, True) if simple and not _is_refused(op, public) else None
    if found is None or len(found.results) != 1 or found.native is None:
        return None, None
    return found.native, backward


__all__ = ["Backward", "chain_of", "learn", "made_for"]
