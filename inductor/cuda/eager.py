"""Eager ops on a device: a call is a graph of one op, compiled once for its kind of arguments and launched natively from then on.

A kind is the op, its settings, and of every tensor the dtype, the rank, which sizes are 0, 1 or equal to others, and whether it
is row-major (then its sizes are symbols; other layouts are compiled as they are). The numbers of pointwise ops are symbols too,
passed to the kernel: `x * 0.1` and `x * 0.2` are one kind. What loops cannot compute goes through the host: its tensors are
copied there, the CPU's kernel runs, the result is copied back, and a warning names the op, once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aten import _native, autocast, devices, dispatch, errors, logs
from aten import dtype as dtypes
from aten._native import Tensor
from aten.dispatch import no_grad
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.meta import Meta
from aten.on_device import OPEN
from aten.op import Op, registry
from aten.scalar.unpatched import math
from aten.symbolic.evaluate import evaluate
from aten.symbolic.expr import Expr
from aten.symbolic.shape_env import DataDependentError, ShapeEnv
from inductor.codegen.toolchain import DeviceCompileError
from inductor.cuda import counted, float8
from inductor.lowering.registry import NotLowered

CPU = dtypes.device("cpu")
log = logs.get("cache")
MOST_KINDS = 8192  # that are remembered
NUMBERS_DECIDE = frozenset({"pow", "round", "polygamma"})  # of exponents, digits and orders: what is computed, and what is refused
WIDEST = 2**62  # what is computed with symbols is computed in 64 bits


class OnHost(Exception):
    """The op has no kernels on a device; the text says why."""


@dataclass
class Program:
    """A compiled kind: it holds for sizes and numbers for which the guards do, and which `fixed` allows.

    `symbols`: the name of each symbol and where its value is: (input, dim), or (input, None) of a number. `fixed`: the sizes and
    numbers that it was compiled for, as `_particulars` gives them; None for those that are symbols."""

    call: Callable[..., tuple]
    guards: tuple[Expr, ...]
    symbols: tuple[tuple[str, int, int | None], ...]
    several: bool
    fixed: tuple[Any, Any] = (None, None)

    def holds(self, inputs: Sequence[Any]) -> bool:
        if self.guards:
            values = {name: inputs[k] if d is None else inputs[k].shape[d] for name, k, d in self.symbols}
            if not all(evaluate(g, values) for g in self.guards):
                return False
        if self.fixed == (None, None):
            return True
        return all(want is None or want == have for want, have in zip(self.fixed, _particulars(inputs)))

    def run(self, inputs: Sequence[Any]) -> tuple:
        """The op's results. Numbers that are compiled in are no inputs of the Program."""
        return self.call(*(inputs if self.fixed[1] is None else [x for x in inputs if isinstance(x, Tensor)]))


def _particulars(inputs: Sequence[Any]) -> tuple[Any, Any]:
    """The sizes of the tensors and the numbers, such that equal ones compute alike (0.0 and -0.0 do not)."""
    sizes = tuple([tuple(x.shape) for x in inputs if isinstance(x, Tensor)])
    return sizes, tuple([repr(x) for x in inputs if not isinstance(x, Tensor)])


_programs: dict[tuple, list[Program]] = {}
on_the_host: set[tuple] = set()
_lock = threading.RLock()


def run(op: Op, args: tuple[Any, ...], device: Any) -> Any:
    """The op on core arguments, some of them tensors on `device`. Autocast has done what it does to them."""
    before = _native.set_ambient_bits(autocast.ON, 0)
    try:
        return _run(op, args, device)
    finally:
        _native.set_ambient_bits(autocast.ON, before)


def _run(op: Op, args: tuple[Any, ...], device: Any) -> Any:
    inputs: list[Any] = []
    key = (op.name, str(device), _native.ambient() & ~OPEN, *_kinds(args, inputs, {}, operands(op)))
    if any(map(float8.is_float8, inputs)) or (op.name == "cast" and args[1].name.startswith("float8")):
        made = float8.run(op, args)
        return on_host(op, args, device) if made is NotImplemented else made
    if "dynamic" in op.tags or op.name in counted.TABLE:
        try:
            made = counted.run(op, args)
        except counted.Refused:
            return _by_the_cpu(op, args, device)
        return on_host(op, args, device) if made is NotImplemented else made
    if key in on_the_host:
        return on_host(op, args, device)
    p = known(key, inputs)
    if p is None:
        dispatch.result_meta(op, args)  # what is wrong with the arguments is the user's to know
        try:
            p = kept(key, lambda: _compiled(op, args, inputs))
        except (OnHost, NotLowered, DataDependentError, DeviceCompileError, NotImplementedError) as e:
            on_the_host.add(key)
            return on_host(op, args, device, str(e))
        except Exception as e:
            errors.internal(f"compiling {op.name} for {device}", e)
            on_the_host.add(key)
            return on_host(op, args, device, str(e))
    return _called(p, inputs, op, args)


def known(key: tuple, inputs: Sequence[Any]) -> Program | None:
    """What was compiled for the kind `key` and holds for these inputs."""
    for p in _programs.get(key, ()):
        if p.holds(inputs):
            return p
    return None


def kept(key: tuple, compile: Callable[[], Program]) -> Program:
    """What `compile` gives, remembered for the kind `key`. Raises OnHost where nothing can be compiled."""
    from inductor import cuda

    if (reason := cuda.why_not()) is not None:
        raise OnHost(reason)
    with _lock:
        p = compile()
        if len(_programs) >= MOST_KINDS:
            _programs.clear()
        _programs.setdefault(key, []).append(p)
    return p


@functools.cache
def operands(op: Op) -> Mapping[int, str]:
    """Which of the op's arguments are operands where they are numbers, which a kernel is passed: they decide nothing about it. By
    position "number" or, of 64 bits, "seed"."""
    if "pointwise" in op.tags:
        return {} if op.name in NUMBERS_DECIDE else dict.fromkeys(range(len(op.core)), "number")
    if "random" in op.tags:
        return {k: "seed" for k, p in enumerate(op.core) if p.name in ("seed", "offset")}
    return {}


def signed(x: int) -> int:
    """The number of 64 bits with a sign that has the bits of x."""
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


def _called(p: Program, inputs: Sequence[Any], op: Op, args: tuple[Any, ...]) -> Any:
    try:
        made = p.run(inputs)
        return made if p.several else made[0]
    except errors.GraphFailed as e:
        failed = e
    with no_grad(), dispatch.On(CPU):  # the CPU's kernel says what is wrong, in its words
        dispatch.run(op, _moved(args, CPU))
    raise failed


def overwrite(target: Tensor, value: Tensor) -> None:
    """The elements of `value`, cast, in the memory of `target`, which has its sizes and may lie anyhow."""
    if float8.is_float8(target) and target.dtype is value.dtype:
        target, value = target.view(dtypes.uint8), value.view(dtypes.uint8)
    op = registry["copy_"]
    inputs: list[Any] = []
    key = ("copy_", str(target.device), *_kinds((target, value), inputs, {}))
    try:
        if key in on_the_host:
            raise OnHost
        p = known(key, inputs) or kept(key, lambda: _compiled(op, (target, value, False), inputs))
    except (OnHost, NotLowered, DeviceCompileError):  # complex numbers, which are no loop's
        on_the_host.add(key)
        overwrite_on_host(target, value)
        return
    p.run(inputs)


def _kinds(args: Sequence[Any], inputs: list[Any], sizes: dict[int, int], numbers: Mapping[int, str] | None = None) -> tuple:
    """What tells the arguments' kind; collects their tensors and, of `numbers` (see `operands`), their numbers, in order.

    `sizes`: the numbers of sizes that were met."""
    out: list[Any] = []
    for k, a in enumerate(args):
        if isinstance(a, Tensor):
            inputs.append(a)
            if a.is_contiguous():
                classes = tuple([n if n < 2 else -1 - sizes.setdefault(n, len(sizes)) for n in a.shape])
                out.append((a.dtype.name, a.device.type, classes))
            else:
                out.append((a.dtype.name, a.device.type, tuple(a.shape), a.stride()))
        elif type(a) in (list, tuple):
            out.append(("list", *_kinds(a, inputs, sizes)))
        elif numbers and k in numbers and is_operand(a, numbers[k]):
            inputs.append(signed(a) if numbers[k] == "seed" else a)
            out.append(type(a))
        else:
            out.append((type(a).__name__, repr(a)))
    return tuple(out)


def is_operand(x: Any, kind: str = "number") -> bool:
    """Whether x is a number that may be a symbol. NaN and infinities are few, and compiled in."""
    if kind == "seed":
        return type(x) is int
    return (type(x) is float and math.isfinite(x)) or (type(x) is int and -WIDEST <= x < WIDEST)


def _compiled(op: Op, args: tuple[Any, ...], inputs: list[Any]) -> Program:
    """The op compiled for sizes and numbers of this kind; for these alone where it cannot be for others."""
    ways = [(True, True), (True, False), (False, False)]  # whether sizes and numbers are symbols
    for symbols in ways if len(inputs) > sum(isinstance(x, Tensor) for x in inputs) else ways[1:]:
        try:
            return _built(op, args, inputs, *symbols)
        except (OnHost, DeviceCompileError):
            raise
        except Exception as e:  # these may be simpler than all of their kind
            if symbols == ways[-1]:
                raise
            log(f"{op.name} of symbols: {type(e).__name__}: {e}")
    raise AssertionError("one way is left")


class _Placeholders:
    """The inputs of an op's graph, made of its arguments in order, and the symbols of their sizes."""

    def __init__(self, graph: Graph, env: ShapeEnv, sizes: bool, numbers: bool):
        self.graph, self.env, self.sizes, self.numbers = graph, env, sizes, numbers
        self.symbols: list[tuple[str, int, int | None]] = []
        self.sized: dict[int, Any] = {}
        self.count = 0

    def of(self, a: Any, operand: str | None) -> Any:
        """What stands for the argument in the graph. `operand`: what it is as a number (see `operands`)."""
        if type(a) in (list, tuple):
            return type(a)(self.of(x, None) for x in a)
        if operand and is_operand(a, operand):
            return self.number(signed(a) if operand == "seed" else a, operand) if self.numbers else a
        return self.tensor(a) if isinstance(a, Tensor) else a

    def tensor(self, a: Tensor) -> Any:
        if a.is_contiguous():
            meta = Meta.contiguous([self.size(n, d) for d, n in enumerate(a.shape)], a.dtype, a.device)
        else:
            meta = Meta(a.dtype, a.device, tuple(a.shape), a.stride())
        return self.placeholder(meta)

    def size(self, n: int, d: int) -> Any:
        if not self.sizes or n < 2:
            return n
        if n not in self.sized:
            self.sized[n] = self.env.symbol(self.named("s", d), n, 2)
        return self.sized[n]

    def number(self, x: int | float, operand: str) -> Any:
        """A symbol stands in a node's arguments as itself; the placeholder is where its value comes in."""
        kind = type(x).__name__
        name = self.named("s" if kind == "int" else "z", None)  # the name of a symbol tells its kind
        symbol = self.env.symbol(name, x, -(1 << 63) if operand == "seed" else -WIDEST, kind=kind)
        self.placeholder(symbol)
        return symbol

    def named(self, letter: str, d: int | None) -> str:
        self.symbols.append((f"{letter}{len(self.symbols)}", self.count, d))
        return self.symbols[-1][0]

    def placeholder(self, val: Any) -> Any:
        name = f"x{self.count}"
        self.count += 1
        return self.graph.create_node("placeholder", name, name=name, val=val)


def _built(op: Op, args: tuple[Any, ...], inputs: list[Any], sizes: bool, numbers: bool) -> Program:
    """The op compiled, the sizes and numbers among its inputs being symbols or what they are in this call."""
    graph, env = Graph(), ShapeEnv()
    graph.shape_env = env
    placeholders, numbered = _Placeholders(graph, env, sizes, numbers), operands(op)
    given = [placeholders.of(a, numbered.get(k)) for k, a in enumerate(args)]
    positional, keywords = op.split(tuple(given)) if op.kind != "inplace" else (tuple(given), {})
    if op.kind == "inplace":
        val = given[0].meta["val"]
    else:
        val = op.function(*[_meta(a) for a in given])
    node = graph.create_node("call_function", op, tuple(positional), keywords, val=val)
    several = type(val) is tuple
    outputs = _parts(graph, node, val) if several else () if op.kind == "inplace" else (node,)
    graph.create_node("output", "output", (outputs,))
    have = _particulars(inputs)
    fixed = (None if sizes else have[0], None if numbers or not have[1] else have[1])
    passed = inputs if fixed[1] is None else [x for x in inputs if isinstance(x, Tensor)]
    return compiled_graph(GraphModule(None, graph, env), passed, placeholders.symbols, several, fixed)


def compiled_graph(
    gm: GraphModule, inputs: Sequence[Any], symbols: Sequence[tuple], several: bool, fixed: tuple[Any, Any] = (None, None)
) -> Program:
    """A graph of one op as a Program (see there). `inputs`: of a call."""
    from inductor import compile as pipeline
    from inductor import loading

    with no_grad():
        call = loading.cached(gm, "one op", lambda: pipeline.compile_op(gm, inputs))
    return Program(call, tuple(g.expr for g in gm.shape_env.guards), tuple(symbols), several, fixed)


def _meta(a: Any) -> Any:
    if type(a) in (list, tuple):
        return type(a)(map(_meta, a))
    return a.meta["val"] if hasattr(a, "meta") else a


def _parts(graph: Graph, node: Any, val: tuple) -> tuple:
    import operator

    return tuple(graph.create_node("call_function", operator.getitem, (node, k), val=m) for k, m in enumerate(val))


# ------------------------------------------------------------------------------------------------------- through the host
def on_host(op: Op, args: tuple[Any, ...], device: Any, why: str = "") -> Any:
    """The op by the CPU's kernel, on copies. Raises RuntimeError where the device only records."""
    reason = f" ({why})" if why else ""
    where = f"{op.name} has no kernel on {device.type}"
    if devices.is_recording(device):
        raise RuntimeError(f"{where}, and what runs on the CPU cannot be captured in a CUDA graph{reason}")
    if _has_elements(args):
        errors.warn_once(f"{where} and runs on the CPU, with copies of its tensors{reason}", about=where)
    return _by_the_cpu(op, args, device)


def _has_elements(args: Sequence[Any]) -> bool:
    return any(_has_elements(a) if type(a) in (list, tuple) else isinstance(a, Tensor) and a.numel() > 0 for a in args)


def _by_the_cpu(op: Op, args: tuple[Any, ...], device: Any) -> Any:
    with no_grad(), dispatch.On(CPU):
        return _moved(dispatch.run(op, _moved(args, CPU)), device)


def overwrite_on_host(target: Tensor, value: Tensor) -> None:
    """`overwrite` through the host: the memory between the target's first and last element goes there and back."""
    copy = _native.move(target, CPU)
    dispatch.write(copy, _moved(value, CPU))
    reach = 1 + sum((n - 1) * step for n, step in zip(target.shape, target.stride()))
    if target.numel():
        there = _native.alias(target, (reach,), (1,), target.storage_offset())
        _native.copy_memory(there, _native.alias(copy, (reach,), (1,), 0))


def _moved(value: Any, device: Any) -> Any:
    if isinstance(value, Tensor):
        return value if value.device == device else registry["to_device"](value, device)
    if isinstance(value, (list, tuple)):
        make = getattr(value, "_make", type(value))  # (results may have names)
        return make([_moved(v, device) for v in value])
    return device if isinstance(value, _native.Device) else value
