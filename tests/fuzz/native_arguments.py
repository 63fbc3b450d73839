"""Every native entry point with malformed, huge, overlapping and re-entrant arguments, in forked children.

    python -m tests.fuzz.native_arguments --seconds 3600 --seed 0

prints each call that kills or hangs its child, with what repeats it. `--only NAME` takes entries whose name contains it.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import aten
import weft
from aten import _native
from aten.op import registry
from dynamo import _eval_frame
from inductor import _runner
from tests.fuzz import programs
from tests.fuzz.arguments import Arguments
from tests.fuzz.children import Outcome, Progress, run

BATCH = 150  # calls of one child
PATIENCE = 150.0  # seconds without a new call: hung (2**28 random numbers take 30 s under ASan on a busy core)
INTERRUPT = 2.0  # seconds after which a call that Ctrl-C ends is ended
Entry = tuple[str, Callable[[Arguments], tuple[Callable[[], Any], str]]]


def entries() -> list[Entry]:
    """(name, draw) of every entry point; draw gives a call and its text."""
    found: list[Entry] = []
    for module in (_native, _eval_frame, _runner):
        for name, value in sorted(vars(module).items()):
            where = f"{module.__name__}.{name}"
            if isinstance(value, types.BuiltinFunctionType):
                found.append((where, _calls(where, value)))
            elif isinstance(value, type):
                found += [(where, _calls(where, value)), *_members(where, value)]
    for op in dict.fromkeys(registry.values()):
        found.append((f"ops.{op.name}", _op_calls(op)))
    found += [(f"program.{name}", draw) for name, draw in programs.DRAWS.items()]
    return found


def _calls(where: str, function: Any) -> Callable[[Arguments], tuple[Callable[[], Any], str]]:
    def draw(a: Arguments) -> tuple[Callable[[], Any], str]:
        drawn = [a.draw() for _ in range(a.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 9, 11]))]
        values = [v for v, _ in drawn]
        return (lambda: function(*values)), f"{where}({', '.join(t for _, t in drawn)})"

    return draw


def _members(where: str, cls: type) -> Iterator[Entry]:
    """Methods and attributes of a native type, on instances that arguments are made of and on ones of another type."""
    for name, member in sorted(vars(cls).items()):
        full = f"{where}.{name}"
        if isinstance(member, types.GetSetDescriptorType | types.MemberDescriptorType):
            yield full, _attribute(full, cls, member)
        elif callable(member) and name not in ("__new__", "__init_subclass__", "__getattribute__"):
            yield full, _method(full, cls, member)


def _instance(cls: type, a: Arguments) -> tuple[Any, str]:
    if a.random.random() < 0.05:
        return a.draw()
    if cls is _native.Tensor:
        return a.tensor()
    if a.random.random() < 0.3:
        try:
            return cls.__new__(cls), f"new {cls.__name__}"
        except TypeError:  # of a type that is made by others only
            return a.draw()
    made = programs.instance(cls, a)
    return (made, cls.__name__) if made is not None else a.draw()


def _method(full: str, cls: type, member: Any) -> Callable[[Arguments], tuple[Callable[[], Any], str]]:
    def draw(a: Arguments) -> tuple[Callable[[], Any], str]:
        drawn = [_instance(cls, a), *(a.draw() for _ in range(a.random.choice([0, 1, 1, 2, 3])))]
        values = [v for v, _ in drawn]
        return (lambda: member(*values)), f"{full}({', '.join(t for _, t in drawn)})"

    return draw


def _attribute(full: str, cls: type, member: Any) -> Callable[[Arguments], tuple[Callable[[], Any], str]]:
    def draw(a: Arguments) -> tuple[Callable[[], Any], str]:
        (one, text), (value, shown) = _instance(cls, a), a.draw()
        if a.random.random() < 0.3:
            return (lambda: member.__get__(one)), f"{full} of {text}"
        return (lambda: (member.__set__(one, value), member.__get__(one))), f"{full} of {text} = {shown}"

    return draw


def _op_calls(op: Any) -> Callable[[Arguments], tuple[Callable[[], Any], str]]:
    """By schema, mostly; the native rule and the general path both."""

    def one(p: Any, a: Arguments) -> tuple[Any, str]:
        r, kind = a.random, p.type
        if p.optional and r.random() < 0.3:
            return None, "None"
        if r.random() < 0.06:
            return a.draw()
        if p.is_list and not p.spread:
            drawn = [single(kind, a) for _ in range(r.choice([0, 1, 2, 2, 3, 4]))]
            made = [v for v, _ in drawn]
            a.held.append(made)
            return made, f"[{', '.join(t for _, t in drawn)}]"
        return single(kind, a)

    def single(kind: str, a: Arguments) -> tuple[Any, str]:
        r = a.random
        if kind == "LongTensor" and r.random() < 0.7:
            t = a.tensor()[0]
            t = weft.ones(tuple(t.shape)[:3] if t.numel() < 10**6 else (2,), dtype=weft.int64) * r.choice([0, 1, 2, -1])
            a.held.append(t)
            return t, f"T{list(t.shape)}:int64"
        if "Tensor" in kind:
            return a.tensor()
        if kind in ("int", "IntOrDType"):
            return a.integer()
        if kind in ("Scalar", "float"):
            return a.number() if r.random() < 0.5 else a.integer()
        if kind == "bool":
            return (r.random() < 0.5), "bool"
        if kind == "str":
            return a.word()
        return a.draw()

    def draw(a: Arguments) -> tuple[Callable[[], Any], str]:
        drawn, keywords = [], {}
        for p in op.schema.params:
            if not p.required and a.random.random() < 0.45:
                if not p.kw_only:
                    break
                continue
            value, text = one(p, a)
            if p.kw_only:
                keywords[p.name] = value
                drawn.append((None, f"{p.name}={text}"))
            else:
                drawn.append((value, text))
        values = [v for (v, t), p in zip(drawn, op.schema.params) if not p.kw_only]
        return (lambda: op(*values, **keywords)), f"{op.name}({', '.join(t for _, t in drawn)})"

    return draw


def check(value: Any) -> None:
    """A tensor lies inside of its storage; reading it is the proof, writing over it the next one's."""
    if isinstance(value, list | tuple):
        for item in value[:8]:
            check(item)
    if not isinstance(value, weft.Tensor) or _native.is_tracer(value):
        return
    if value.layout is not weft.strided:  # (a sparse one is made of tensors)
        check(value.detach().to_dense())
        return
    sizes, strides, offset = tuple(value.shape), value.stride(), value.storage_offset()
    if 0 not in sizes:
        low = offset + sum((n - 1) * s for n, s in zip(sizes, strides) if s < 0)
        high = offset + sum((n - 1) * s for n, s in zip(sizes, strides) if s > 0)
        nbytes = value.untyped_storage().nbytes()
        assert 0 <= low and (high + 1) * value.dtype.itemsize <= nbytes, f"{sizes} {strides} {offset} lie beyond {nbytes} bytes"
    if value.numel() < 10**5 and not value.is_meta:
        str(value.detach())
        value.detach().clone()


def calls_of(all_entries: list[Entry], seed: int, first: int, count: int) -> Callable[[Progress], None]:
    """What a child does: calls number `first` and so on. Each repeats by itself."""

    def work(progress: Progress) -> None:
        aten.manual_seed(seed)
        for number in range(first, first + count):
            try:
                try:
                    call(all_entries, seed, number, progress)
                finally:
                    progress.end()
            except KeyboardInterrupt:  # it took long, and could be interrupted
                continue

    return work


def call(all_entries: list[Entry], seed: int, number: int, progress: Progress) -> None:
    """Make one call, look at its result, and walk back through its history."""
    name, draw = all_entries[random.Random(f"{seed}/{number}").randrange(len(all_entries))]
    progress.begin(f"#{number} arguments of {name}")
    a = Arguments(f"{seed}/{number}")
    try:
        made, text = draw(a)
    except (Exception, SystemExit):
        return
    progress.begin(f"#{number} {text}")
    try:
        result = made()
    except SystemError as error:
        raise AssertionError(f"SystemError: {error}") from error
    except (Exception, SystemExit):
        result = None
    progress.begin(f"#{number} after {text}")
    for value in (result, *a.held):
        check(value)
    if isinstance(result, weft.Tensor) and not _native.is_tracer(result) and result.requires_grad and result.numel() < 10**5:
        try:
            result.abs().sum().backward()
        except SystemError as error:
            raise AssertionError(f"SystemError in backward: {error}") from error
        except (Exception, SystemExit):
            return
    if number % 25 == 0:
        gc.collect()


def fuzz(seconds: float, seed: int, only: str = "", report: Callable[[str], None] = print) -> tuple[int, list[Outcome]]:
    """(calls made, what killed or hung) within so many seconds."""
    chosen = [e for e in entries() if only in e[0]]
    made, bad, number, end = 0, [], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        outcome = run(calls_of(chosen, seed, number, BATCH), patience=PATIENCE, interrupt=INTERRUPT)
        if outcome.kind == "ended":
            number += BATCH
            made += BATCH
            continue
        at = int(outcome.at[1:].split(" ", 1)[0]) if outcome.at.startswith("#") else number + BATCH - 1
        made += at + 1 - number
        number = at + 1
        bad.append(outcome)
        again = f"python -m tests.fuzz.native_arguments --seed {seed} --call {at}" + (f" --only {only}" if only else "")
        report(f"{outcome.kind} {outcome.how}: {outcome.at}\n    {again}")
    return made, bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--call", type=int, help="make one call alone, in this process")
    options = parser.parse_args()
    if options.call is not None:
        call([e for e in entries() if options.only in e[0]], options.seed, options.call, Progress())
        return 0
    made, bad = fuzz(options.seconds, options.seed, options.only)
    print(f"{made} calls of {len(entries())} entry points, seed {options.seed}: {len(bad)} killed or hung")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
