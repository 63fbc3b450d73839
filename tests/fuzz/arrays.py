"""Random NumPy programs, compiled and plain: views and copies, what writes into which, scalars, read-only arrays, breaks between.

Results, arguments and errors are compared, dtypes and whether an array may be written included; then a result is written, and
whoever shares its memory must see that. A seed is a program: `python -m tests.fuzz.arrays --only SEED` runs one.
"""

from __future__ import annotations

import copy
import random
import sys
import warnings
from typing import Any

import numpy as np

import weft
from tests.fuzz import drive

VIEWS = """{v}[1:] | {v}[:, ::2] | {v}.T | {v}[0] | {v}[None] | {v}.reshape(-1) | {v}[...] | {v}.ravel() | np.flip({v})
np.asarray({v}) | {v}[::-1] | np.swapaxes({v}, 0, -1) | np.atleast_2d({v}) | {v}.squeeze() | np.expand_dims({v}, 0)
np.broadcast_to({v}, (2,) + {v}.shape) | np.diagonal({v}) | {v}.view() | np.array_split({v}, 2)[0] | {v}.real | {v}[-1]
np.moveaxis({v}, 0, -1) | {v}[:-1]"""
RESULTS = """{v} * 2 | {v} + {w} | {v}.copy() | np.where({v} > 0, {v}, -1) | np.sort({v}) | {v}.sum(0) | {v}.mean() | np.cumsum({v})
{v}[{v} > 0] | np.array({v}) | np.maximum({v}, 0) | {v} - {v}.max() | np.round({v}) | {v}.astype(np.float32) | np.abs({v})
np.concatenate([{v}, {v}]) | +{v} | -{v} | {v}.flatten() | np.tile({v}, 2) | np.roll({v}, 1) | {v} / 3 | {v} // 2 | {v} % 3
np.stack([{v}, {v}]) | np.clip({v}, -1, 1) | np.sign({v}) | {v}.dot({v}.T) | np.ascontiguousarray({v}) | float({v}.sum())
{v}.shape | {v}.max() | {v}.argmax() | {v}.item(0) | {v}.flat[0] | {v}.tolist() | np.zeros_like({v}) | np.ones({v}.shape)
{v} == 0 | np.exp({v} * 0.01) | {v}.any() | len({v}) | [r.sum() for r in {v}] | np.repeat({v}, 2) | np.diff({v}) | np.diag({v})"""
WRITES = """{v}[0] = 5 | {v} += 1 | {v} *= 2 | {v}[...] = 0 | {v}[1:] += 1 | {v}[{v} < 0] = 0 | {v} -= {w} | np.add({v}, 1, out={v})
{v}.fill(3) | {v}[..., 0] = 7 | {v}[0] += {v}[-1] | {v}[:] = {w} | {v}.sort() | {v} /= 2 | {v}[[0, -1]] = 1 | {v} //= 2
{v} **= 2 | {v}[-1] = np.nan | np.copyto({v}, {w}) | {v}.T[0] = 4 | {v}[::2] = 9"""


def choices(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split(" | ")]


STATEMENTS = [(choices(VIEWS), 0.35), (choices(RESULTS), 0.6), (choices(WRITES), 1.0)]


def program(seed: int) -> tuple[list[str], list[str], list[np.ndarray]]:
    """Statements, the names of what they make, and the arguments a and r (at times one array)."""
    rng = random.Random(seed)
    names, lines = ["a", "r"], []
    for k in range(rng.randint(3, 7)):
        v, w, chance = rng.choice(names), rng.choice(names), rng.random()
        kinds, makes = next((kinds, limit < 1) for kinds, limit in STATEMENTS if chance < limit)
        text = rng.choice(kinds).format(v=v, w=w)
        lines.append(f"v{k} = {text}" if makes else text)
        names += [f"v{k}"] if makes else []
        if rng.random() < 0.07:
            lines.append("weft._dynamo.graph_break()")
    draws = np.random.default_rng(seed)
    kind = rng.choice(["f8", "f4", "i8", "u1"])
    a = (draws.integers(0, 9, (4, 4)) if kind == "u1" else draws.standard_normal((4, 4)) * 5).astype(kind)
    return lines, names, [a, a[::-1].copy() if rng.random() < 0.7 else a]


def function_of(lines: list[str], names: list[str]) -> Any:
    scope = {"np": np, "weft": weft}
    exec("\n".join(["def f(a, r):", *(f"    {line}" for line in lines), f"    return ({', '.join(names)},)"]), scope)
    return scope["f"]


def outcome(function: Any, given: list[np.ndarray]) -> Any:
    """(results, arguments afterwards); of an error its class."""
    given = copy.deepcopy(given)
    try:
        results = function(*given)
    except Exception as e:  # whatever NumPy raises is the answer
        return type(e).__name__, given
    written = next((x for x in results if isinstance(x, np.ndarray) and x.flags.writeable and x.size), None)
    if written is not None:
        written[(0,) * written.ndim] = 55
    return results, given


def parted(a: Any, b: Any, single: bool = False) -> str | None:
    """Where two outcomes differ; `single`: Python's own floats may be sums of float32."""
    if type(a) is not type(b):
        return f"{type(a).__name__} / {type(b).__name__}"
    if isinstance(a, (tuple, list)):
        if len(a) != len(b):
            return f"{len(a)} / {len(b)} parts"
        return next((f"[{k}] {d}" for k, d in enumerate(parted(x, y, single) for x, y in zip(a, b)) if d is not None), None)
    if isinstance(a, np.ndarray) and (a.dtype, a.shape, a.flags.writeable) != (b.dtype, b.shape, b.flags.writeable):
        return f"{a.dtype}{a.shape} {a.flags.writeable} / {b.dtype}{b.shape} {b.flags.writeable}"
    if isinstance(a, (np.ndarray, np.number, float)):
        of_single = np.asarray(a).dtype == np.float32 or (single and type(a) is float)
        loose = 2e-3 if of_single else 1e-6  # sums in another order, of numbers that cancel
        return None if np.allclose(a, b, rtol=loose, atol=loose, equal_nan=True) else f"values {a} / {b}"
    return None if a == b else f"{a!r} / {b!r}"


def differs(lines: list[str], names: list[str], given: list[np.ndarray], compiled: Any = None) -> str | None:
    """How compiled and plain differ, at the first call or the second."""
    function = function_of(lines, names)
    single = given[0].dtype == np.float32 or any("float32" in line for line in lines)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = outcome(function, given)
        for dynamic in (False, True):
            weft.compiler.reset()
            other = compiled(function) if compiled else weft.compile(function, backend="eager", dynamic=dynamic)
            for _ in range(2):
                found = parted(want, outcome(other, given), single)
                if found is not None:
                    return found
    return None


def check(seed: int) -> tuple[str, str] | None:
    lines, names, given = program(seed)
    found = differs(lines, names, given)
    if found is None:
        return None
    kept = list(lines)
    for line in lines:  # without each line in turn, if that still differs in the same way
        fewer = [other for other in kept if other is not line]
        left = [n for n in names if n in "ar" or any(other.startswith(f"{n} =") for other in fewer)]
        try:
            if differs(fewer, left, given) is not None:
                kept = fewer
        except SyntaxError:
            continue
    return found[:60], "\n".join(kept) + f"\n  {given[0].dtype}: {found[:600]}"


if __name__ == "__main__":
    sys.exit(drive.main("tests.fuzz.arrays", check))
