"""The kernels of a Schedule that run on a device, compiled: what `schedule.memory.plan` makes Launch steps of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aten import settings
from aten.records import replaced
from aten.symbolic.expr import Expr, as_expr, le, max_, prod_
from inductor.codegen import triton
from inductor.codegen.triton_function import Function
from inductor.codegen.triton_values import LARGEST_PLACE
from inductor.cuda import images
from inductor.cuda.images import Image, Pending
from inductor.ir.buffer import PARTS, Buffer, Kernel, Schedule
from inductor.ir.program import Program
from inductor.ir.steps import Launch
from inductor.lowering.operations import Attention
from inductor.schedule.memory import Launched, nbytes


@dataclass(frozen=True)
class Device:
    """What decides how a kernel is compiled. `capability` is 90 for 9.0."""

    name: str
    capability: int
    driver: int


def device_of(name: str) -> Device:
    """The device "cuda:0" as it is on this machine."""
    from aten import _cuda

    index = int(name.partition(":")[2] or 0)
    major, minor = _cuda.capability(index)
    return Device(name, 10 * major + minor, _cuda.driver_version())


def small_places(schedule: Schedule, kernels: Sequence[Kernel], env: Any) -> bool:
    """Whether 32 bits count all places of symbolic kernels: for the sizes of this call they do, and a guard keeps it so."""
    reach: dict[Expr, None] = {}
    for k in kernels:
        for name in k.args:
            b = schedule.buffers[name]
            elements = as_expr(b.offset) + nbytes(Buffer(b.name, "uint8", b.sizes, b.strides))
            reach[elements * (2 if b.dtype in PARTS else 1)] = None
        if isinstance(k.body, Attention):
            d = k.body.domain
            reach[prod_(d.batch) * max_(d.rows, d.columns)] = None
            continue
        for nest in k.body if isinstance(k.body, tuple) else (k.body.epilogue,):
            reach[prod_(d.size for d in nest.dims)] = None
    symbolic = [e for e in reach if not e.is_const]
    if not symbolic or env is None:
        return not symbolic
    if any(not e.free_symbols <= env.hints.keys() or env.hint(e) > LARGEST_PLACE for e in symbolic):
        return False
    for e in symbolic:
        env.guard(le(e, LARGEST_PLACE))
    return True


@dataclass
class Functions:
    """The functions of a Schedule, being compiled. `launches` says by kernel what is launched, naming images by the key of
    their request: all that a plan needs."""

    launches: dict[str, list[Launched]]
    pending: dict[str, Pending]

    def wait(self) -> dict[str, Image]:
        """The images by key. Raises DeviceCompileError with Triton's reason."""
        return {key: p.wait() for key, p in self.pending.items()}


def settled(program: Program, found: Mapping[str, Image]) -> Program:
    """The Program with its images by digest, and what launches of them must know.""" ""

    def step(s: Any) -> Any:
        if not isinstance(s, Launch):
            return s
        made = [found[key] for key, *_ in s.functions]
        return replaced(s, functions=tuple((i.digest, i.name, i.threads, i.shared) for i in made))

    return replaced(program, steps=[step(s) for s in program.steps], graphs=int(settings.cudagraphs))


def sizes_of(f: Function) -> list[Expr]:
    """The numbers it is passed of which it matters whether 16 divides them."""
    return [p.source for p in f.parameters if p.divides and isinstance(p.source, Expr)]


def start(schedule: Schedule, kernels: Sequence[Kernel], env: Any, device: Device, written: frozenset[str]) -> Functions:
    """Begin to compile the kernels of a Schedule for a device. `written`: inputs that are written, which may lie anywhere."""
    hints = {} if env is None else {k: v for k, v in env.hints.items() if isinstance(v, int)}
    narrow = small_places(schedule, kernels, env)
    rendered = triton.render(list(kernels), schedule.buffers, {} if env is None else env.ranges, hints, narrow)
    views = {n for n, b in schedule.buffers.items() if b.kind == "view"}
    unaligned = written | views
    launches: dict[str, list[Launched]] = {}
    found: dict[str, Pending] = {}
    for name, functions in rendered.items():
        launches[name] = []
        for f in functions:
            divides = tuple(s for s in sizes_of(f) if not s.is_const)
            evens = (True, False) if divides else (all(s.value % 16 == 0 for s in sizes_of(f)),)
            made = [images.pending(images.request(f, device.capability, device.driver, unaligned, even)) for even in evens]
            found.update((p.key, p) for p in made)
            named = tuple((p.key, f.name, 32 * f.warps, 0) for p in made)
            launches[name].append(Launched(named, f.grid, tuple((p.kind, p.source) for p in f.parameters), divides))
    return Functions(launches, found)
