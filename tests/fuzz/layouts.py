"""Random programs over tensors of every layout, whose sizes change from call to call: compiled equals eager in values, dtypes,
sizes, strides, what shares memory with what, written inputs and gradients.

Gradients are not compared where eager refuses them because the program overwrote what they need (docs/differences.md).
All numbers are small integers, so that sums and products are exact in any order and equality is meant: of NaNs only the place
is compared, and the sign of a zero not at all. Sizes 0, 1 and 2 are as usual as others.

python -m tests.fuzz.layouts --seconds 3600 --seed 0     seeds 0, 1, 2 … until the time is over
python -m tests.fuzz.layouts --only 1234                 one seed
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import weft
from aten import _native
from tests.fuzz import drive
from tests.fuzz.sized import Program

OVERWRITTEN = "modified by an inplace operation"
REFUSALS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError, ZeroDivisionError, OverflowError)


class Refused:
    """A call that raised: any error is as good as another."""

    def __init__(self, error: Exception):
        self.error = error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refused)

    def __repr__(self) -> str:
        return f"raised {self.error!r}"


def arrangements(kind: str, sizes: tuple[int, ...], numbers: Callable[[tuple[int, ...]], Any]) -> Any:
    """A tensor of these sizes that is laid out as `kind` says."""
    n = len(sizes)
    if kind == "transposed" and n > 1:
        return numbers((*sizes[:-2], sizes[-1], sizes[-2])).transpose(-1, -2)
    if kind == "reversed dims" and n > 1:
        return numbers(tuple(reversed(sizes))).permute(*reversed(range(n)))
    if kind == "stepped" and n:
        return numbers((*sizes[:-1], 2 * sizes[-1]))[..., ::2]
    if kind == "offset" and n:
        return numbers((sizes[0] + 2, *sizes[1:]))[1 : 1 + sizes[0]]
    if kind == "expanded" and n:
        return numbers((1, *sizes[1:])).expand(*sizes)
    if kind == "windows" and n == 1:
        return numbers((sizes[0] + 3,))[2 : 2 + sizes[0]]
    return numbers(sizes)


def values(dtype: Any, seed: int, special: bool) -> Callable[[tuple[int, ...]], Any]:
    """A maker of tensors of small integers; with `special`, infinities, NaN and -0.0 among them."""
    generator = np.random.default_rng(seed)

    def made(sizes: tuple[int, ...]) -> Any:
        a = np.asarray(generator.integers(0 if dtype is weft.uint8 else -4, 5, size=sizes), dtype=float)
        if special and dtype.is_floating_point:
            places = generator.random(sizes) < 0.15
            a = np.where(places, generator.choice([np.inf, -np.inf, np.nan, -0.0], size=sizes), a)
        return weft.tensor(a).to(dtype)

    return made


def inputs_of(program: Program, call: int) -> list[Any]:
    """The arguments of one call, new each time."""
    made: list[Any] = []
    sizes = program.sizes[call]
    for k, given in enumerate(program.inputs):
        maker = values(getattr(weft, given.dtype), program.seed * 100 + 10 * call + k, given.special)
        t = arrangements(given.layout, tuple(sizes[d] for d in given.dims), maker)
        if given.same_memory_as is not None and given.same_memory_as < len(made):
            other = made[given.same_memory_as].detach()
            t = other.reshape(-1)[::2] if given.layout == "stepped" else other[:1] if other.ndim else other
        made.append(leaf(t) if given.grad and t.dtype.is_floating_point else t)
    return made


def leaf(t: Any) -> Any:
    """A leaf of the same layout that is no view of anything: writes near one that is lose gradients even in plain autograd."""
    if 0 in t.stride():
        return t.clone().requires_grad_()
    return _native.empty(tuple(t.shape), t.dtype, t.device, t.stride()).copy_(t).requires_grad_()


def memory(tensors: list[Any]) -> list[tuple[int, int]]:
    """For each tensor the first one of the same memory, and how far from that one it begins."""
    first: dict[int, int] = {}
    told = []
    for k, t in enumerate(tensors):
        owner = first.setdefault(t.untyped_storage().data_ptr(), k) if t.numel() else k
        begins = [v.storage_offset() * v.element_size() for v in (t, tensors[owner])]
        told.append((owner, begins[0] - begins[1]))
    return told


def shown(t: Any) -> tuple:
    """What is compared of a tensor."""
    a = t.detach().to(weft.float64).numpy() + 0.0  # (-0 is 0)
    strides = tuple(s for s, n in zip(t.stride(), t.shape) if n > 1) if t.numel() else ()
    return str(t.dtype), tuple(t.shape), strides, t.requires_grad, a.tobytes() if not np.isnan(a).any() else str(a.tolist())


def gradient(g: Any, leaf: Any) -> tuple:
    """What is compared of a gradient: none is a zero, as that of what a compiled graph does not use."""
    whole = shown(weft.zeros_like(leaf) if g is None else g)
    return whole[:2] + whole[3:]


def run(f: Callable, args: list[Any], seed: int) -> list:
    """What a call shows: results, memory, arguments afterwards, gradients; or the class of its error."""
    try:
        results = list(f(*args))
    except REFUSALS as e:
        return [Refused(e), *[shown(a) for a in args]]
    told = [*map(shown, results), memory([*args, *results]), *map(shown, args)]
    roots = [r for r in results if r.requires_grad and r.numel()]
    leaves = [a for a in args if a.requires_grad and a.is_leaf]
    if roots and leaves:
        numbers = np.random.default_rng(seed)
        given = [weft.tensor(np.asarray(numbers.integers(-2, 3, size=tuple(r.shape)), dtype=float)).to(r.dtype) for r in roots]
        try:
            grads = weft.autograd.grad(roots, leaves, given, allow_unused=True)
        except REFUSALS as e:
            return [*told, OVERWRITTEN if OVERWRITTEN in str(e) else "no gradients"]
        told += [gradient(g, leaf) for g, leaf in zip(grads, leaves)]
    return told


def difference(program: Program) -> str | None:
    """What differs at which call, or None."""
    space: dict[str, Any] = {"weft": weft, "F": weft.nn.functional}
    exec(program.text, space)
    compiled = weft.compile(space["f"], dynamic=program.dynamic, options={"exact": True} if program.exact else None)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in range(len(program.sizes)):
            want = run(space["f"], inputs_of(program, call), program.seed)
            args = inputs_of(program, call)
            for argument, d in program.marked:
                if d < args[argument].ndim:
                    weft._dynamo.maybe_mark_dynamic(args[argument], d)
            got = run(compiled, args, program.seed)
            if want[-1:] == [OVERWRITTEN]:
                want, got = want[:-1], got[: len(want) - 1]
            if want != got:
                k = next((k for k, (a, b) in enumerate(zip(want, got)) if a != b), min(len(want), len(got)))
                eager, found = [str(told[k])[:400] if k < len(told) else "nothing" for told in (want, got)]
                return f"call {call}, part {k} of {len(want)}:\n  eager    {eager}\n  compiled {found}"
    return None


def check(seed: int) -> tuple[str, str] | str | None:
    program = Program(seed)
    if not program.lines:
        return drive.VOID
    try:
        found = difference(program)
    except Exception as e:  # reported with its program
        found = f"{type(e).__name__}: {str(e)[:600]}"
    finally:
        weft.compiler.reset()
    return None if found is None else (f"seed {seed}", f"{found}\n{program}")


if __name__ == "__main__":
    sys.exit(drive.main("tests.fuzz.layouts", check))
