"""Tensors from nothing on a device: fills of the driver's, or a kernel that counts or draws, with the CPU's random bits.

A kernel is compiled once for a kind of call: sizes and numbers are symbols, so that `arange(8)` and `arange(9)` are one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native, devices, errors
from aten import dtype as dtypes
from aten._native import Tensor
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.meta import Meta
from aten.op import Op, ops, registry
from aten.promotion import to_real
from aten.scalar.unpatched import math
from aten.symbolic.shape_env import DataDependentError, ShapeEnv
from inductor.codegen.toolchain import DeviceCompileError
from inductor.complex_pairs import Pair, joined
from inductor.cuda import eager
from inductor.lowering.registry import NotLowered

CPU = dtypes.device("cpu")
LANES = 1 << 32  # integers of at most so many values take a lane each
RANGES: dict[str, tuple[int, int | None]] = {
    "size": (2, None), "number": (-eager.WIDEST, None), "count": (1, LANES), "seed": (-(1 << 63), (1 << 63) - 1),
}  # fmt: skip
Operand = tuple[str, Any]  # one of RANGES, and what it is in a call


class Kernel:
    """The graph of a kernel being written: `k.symbol(operand)`, and `k(name, *core arguments)`, which is a node."""

    def __init__(self) -> None:
        self.graph, self.env = Graph(), ShapeEnv()
        self.graph.shape_env = self.env
        self.symbols: list[tuple[str, int, None]] = []

    def symbol(self, operand: Operand) -> Any:
        """What stands for an operand: itself, where it is compiled in."""
        if not is_symbol(operand):
            return operand[1]
        (x,) = passed([operand])
        count, kind = len(self.symbols), type(x).__name__
        low, high = RANGES[operand[0]]
        name = f"{'s' if kind == 'int' else 'z'}{count}"  # the name of a symbol tells its kind
        symbol = self.env.symbol(name, x, low, high, kind=kind)
        self.symbols.append((name, count, None))
        self.graph.create_node("placeholder", f"x{count}", name=f"x{count}", val=symbol)
        return symbol

    def __call__(self, name: str, *args: Any) -> Any:
        op = registry[name]
        val = op.function(*[a.meta["val"] if hasattr(a, "meta") else a for a in args])
        positional, keywords = op.split(args)
        return self.graph.create_node("call_function", op, tuple(positional), keywords, val=val)


def is_symbol(operand: Operand) -> bool:
    """Whether a kernel is passed it. Sizes of 1, and numbers that are not finite or take more than 62 bits, are compiled in."""
    kind, x = operand
    return kind == "seed" or (x > 1 if kind == "size" else eager.is_operand(x))


def passed(operands: list[Operand]) -> list[Any]:
    """The symbols' values; 64 bits are a signed number."""
    return [eager.signed(x) if kind == "seed" else x for kind, x in filter(is_symbol, operands)]


# ------------------------------------------------------------------------------------------------------- the forms
# Of core arguments: the operands, and a function that writes the kernel of (k, what stands for each).
Form = tuple[list[Operand], Callable[..., Any]]


def sizes(size: list[int]) -> list[Operand]:
    return [("size", int(n)) for n in size]


def full(size: list[int], value: Any, dtype: Any, device: Any) -> Form:
    """One value everywhere."""
    return [("number", value), *sizes(size)], lambda k, x, *size: k("full", list(size), x, dtype, device)


def arange(start: Any, end: Any, step: Any, dtype: Any, device: Any) -> Form:
    """start + i * step, in 64 bits."""
    kind, wide = (float, dtypes.float64) if isinstance(start + step, float) else (int, dtypes.int64)
    (count,) = registry["arange"].function(start, end, step, dtype, device).sizes

    def write(k: Kernel, n: Any, start: Any, step: Any) -> Any:
        return k("cast", k("add", k("mul", k("arange", 0, n, 1, wide, device), step), start), dtype)

    return [("size", count), ("number", kind(start)), ("number", kind(step))], write


def eye(n: int, m: int, dtype: Any, device: Any) -> Form:
    """1 where the row is the column."""
    return sizes([n, m]), lambda k, n, m: k("eye", n, m, dtype, device)


def drawn(name: str) -> Callable[..., Form]:
    """Floats of a seed and a first counter."""

    def form(size: list[int], seed: int, offset: int, dtype: Any, device: Any) -> Form:
        write = lambda k, seed, offset, *size: k(name, list(size), seed, offset, dtype, device)
        return [("seed", seed), ("seed", offset), *sizes(size)], write

    return form


def randint_philox(low: int, high: int, size: list[int], seed: int, offset: int, dtype: Any, device: Any) -> Form:
    """low + a number below high - low; floats of 16 bits are rounded from 32."""

    def write(k: Kernel, low: Any, count: Any, seed: Any, offset: Any, *size: Any) -> Any:
        made = k("add", k("randint_philox", 0, count, list(size), seed, offset, dtypes.int64, device), low)
        return k("cast", k("cast", made, dtypes.float32) if dtype.is_floating_point and dtype.itemsize < 4 else made, dtype)

    return [("number", low), ("count", high - low), ("seed", seed), ("seed", offset), *sizes(size)], write


def wide_integers(low: int, high: int, size: list[int], seed: int, offset: int, dtype: Any, device: Any) -> Tensor:
    """low + 64 bits of two lanes modulo high - low, in integers of 64 bits with signs."""
    count, wrap = high - low, lambda x: (x + (1 << 63)) % (1 << 64) - (1 << 63)
    lanes = registry["randint_philox"](0, LANES, [math.prod(size), 2], seed, offset, dtype=dtypes.int64, device=device)
    bits = (lanes.select(1, 0) << 32) | lanes.select(1, 1)
    if count > 1 << 62:  # few multiples: as numbers without signs compare, so do those with the first bit the other way
        top = -(1 << 63)
        for _ in range(3):
            bits = ops.where((bits ^ top) >= wrap(count) ^ top, bits - wrap(count), bits)
        found = bits
    else:
        half = ops.remainder((bits >> 1) & ((1 << 63) - 1), count)  # of all bits but the last
        found = ops.remainder(half * 2 + (bits & 1), count)
    return (found + wrap(low)).reshape(size).to(dtype)


FORMS: dict[str, Callable[..., Form]] = {
    "full": full, "arange": arange, "eye": eye, "rand_philox": drawn("rand_philox"), "randn_philox": drawn("randn_philox"),
    "randint_philox": randint_philox,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------- complex numbers
def complex_full(size: list[int], value: Any, dtype: Any, device: Any) -> Tensor:
    """By the parts of the value."""
    value, part = complex(value), to_real(dtype)
    return joined(Pair(*(ops.full(size, v, dtype=part, device=device) for v in (value.real, value.imag))))


def complex_drawn(name: str, scale: float | None) -> Callable[..., Tensor]:
    """Parts are numbers of their own. `scale`: of the parts of a normal number."""

    def make(size: list[int], seed: int, offset: int, dtype: Any, device: Any) -> Tensor:
        parts = registry[name]([*size, 2], seed, offset, dtype=to_real(dtype), device=device)
        return ops.view_as_complex(parts if scale is None else parts * scale)

    return make


def complex_cast(name: str) -> Callable[..., Tensor]:
    """Real numbers, cast."""
    return lambda *args: ops.cast(registry[name](*args[:-2], dtype=to_real(args[-2]), device=args[-1]), args[-2])


COMPLEX: dict[str, Callable[..., Tensor]] = {
    "full": complex_full, "arange": complex_cast("arange"), "eye": complex_cast("eye"),
    "rand_philox": complex_drawn("rand_philox", None), "randn_philox": complex_drawn("randn_philox", 0.5**0.5),
}  # fmt: skip


def triangle(name: str, first: Any, last: Any) -> Callable[..., Tensor]:
    """The places of a triangle, row by row. `first`, `last`: a row's first column and the one behind its last."""

    def make(row: int, col: int, offset: int, dtype: Any, device: Any) -> Tensor:
        (_, count) = registry[name].function(row, col, offset, dtype, device).sizes
        diagonal, k = ops.arange(row, device=device) + offset, ops.arange(count, device=device)
        start, stop = (ops.clamp(edge(diagonal, col), 0, col) for edge in (first, last))
        ends = ops.cumsum(stop - start, 0)
        rows = ops.searchsorted(ends, k, right=True)
        return ops.stack([rows, k + ops.index_select(stop - ends, 0, rows)], 0).to(dtype)

    return make


OF_OTHERS: dict[str, Callable[..., Tensor]] = {
    "tril_indices": triangle("tril_indices", lambda diagonal, width: diagonal * 0, lambda diagonal, width: diagonal + 1),
    "triu_indices": triangle("triu_indices", lambda diagonal, width: diagonal, lambda diagonal, width: diagonal * 0 + width),
}


# ------------------------------------------------------------------------------------------------------- calls
def make(op: Op, args: tuple[Any, ...], found: Meta, on_host: Callable[[], Tensor]) -> Tensor:
    """A factory's result. `on_host` makes it in the host's memory and copies it: what no kernel can make, with a warning."""
    device, key = found.device, ("made", op.name, str(found.device), found.dtype.name)
    if op.name == "full" and (made := filled(args, found)) is not None:
        return made
    if 0 in found.sizes:
        return _native.empty(found.sizes, found.dtype, device)
    others = COMPLEX if found.dtype in (dtypes.complex64, dtypes.complex128) else OF_OTHERS
    if op.name in others:
        return others[op.name](*args)
    if op.name not in FORMS and op.decompose_fn is not None:
        return op.decompose_fn(*args)
    if op.name == "randint_philox" and args[1] - args[0] > LANES:
        return wide_integers(*args)
    why = ""
    if key not in eager.on_the_host:
        try:
            operands, write = FORMS[op.name](*args)
            return launched(key, operands, write)
        except KeyError:
            eager.on_the_host.add(key)
        except (eager.OnHost, NotLowered, DataDependentError, DeviceCompileError, NotImplementedError) as e:
            why = f" ({e})"
    where = f"{op.name} has no kernel on {device.type}"
    if devices.is_recording(device):
        raise RuntimeError(f"{where}, and what is made by the CPU cannot be captured in a CUDA graph{why}")
    errors.warn_once(f"{where} and is made in the host's memory{why}", about=where)
    return on_host()


def filled(args: tuple[Any, ...], found: Meta) -> Tensor | None:
    """A `full` whose element is a pattern of which the driver knows fills."""
    from aten import _cuda  # (there are devices: it is imported)

    one = ops.full([], args[1], dtype=found.dtype, device=CPU)
    made = _native.empty(found.sizes, found.dtype, found.device)
    return made if _cuda.fill(made, one) else None


def launched(key: tuple, operands: list[Operand], write: Callable[..., Any]) -> Tensor:
    """What the kernel for such operands makes; it is compiled where there is none yet."""
    given = passed(operands)
    key += tuple([(kind, type(x)) if is_symbol((kind, x)) else (kind, repr(x)) for kind, x in operands])
    program = eager.known(key, given) or eager.kept(key, lambda: compiled(operands, write, given))
    return program.run(given)[0]


def compiled(operands: list[Operand], write: Callable[..., Any], given: list[Any]) -> eager.Program:
    """The kernel, compiled."""
    k = Kernel()
    node = write(k, *map(k.symbol, operands))
    k.graph.create_node("output", "output", ((node,),))
    return eager.compiled_graph(GraphModule(None, k.graph, k.env), given, k.symbols, False)
