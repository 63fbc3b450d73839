"""Captured code under strain: many threads, an exception at every step of a program, recursion without end, generators left midway.

    python -m tests.fuzz.soak --seconds 600 --threads 64

What compiled code gives, raises, changes and logs is compared with plain Python's, over and over in one process.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import weft


class Countdown:
    """Operations on it are logged; the one at which `left` runs out raises."""

    def __init__(self, left: int):
        self.left = left
        self.log: list[str] = []

    def step(self, name: str) -> None:
        self.log.append(name)
        self.left -= 1
        if self.left == 0:
            raise [ValueError, KeyError, ZeroDivisionError, StopIteration][len(self.log) % 4](name)

    def __add__(self, other: Any) -> Any:
        self.step("add")
        return other + 1

    def __getitem__(self, key: Any) -> Any:
        self.step(f"item {key}")
        return key + 1

    def __setitem__(self, key: Any, value: Any) -> None:
        self.step(f"set {key}")

    def __contains__(self, key: Any) -> bool:
        self.step("contains")
        return True

    def __call__(self, x: Any) -> Any:
        self.step("call")
        return x * 2

    def __enter__(self) -> Any:
        self.step("enter")
        return self

    def __exit__(self, *exc: Any) -> bool:
        self.step("exit")
        return False

    def __iter__(self) -> Iterator[int]:
        self.step("iter")
        yield 1
        self.step("next")
        yield 2

    def __bool__(self) -> bool:
        self.step("bool")
        return True

    @property
    def value(self) -> int:
        self.step("property")
        return 3

    def __eq__(self, other: object) -> bool:
        self.step("eq")
        return False

    __hash__ = object.__hash__


def at_every_step(x: Any, c: Countdown) -> Any:
    """A program in which each operation on `c` may raise, in and out of blocks that catch, clean up and go on."""
    y = c + x
    try:
        with c as d:
            y = y * d[1]
            d[2] = y
            for i in c:
                y = y + c(x) * i
                if c and 3 in c:
                    y = y - c.value
    except KeyError as e:
        c.log.append(f"caught {e.args}")
        y = y * 3
    finally:
        c.log.append("finally")
        y = y + len(c.log)
    parts = [c(v) for v in (x, y) if c != v.shape[0]]
    a, *rest = c
    while True:
        try:
            y = y + c[a]
        except ZeroDivisionError:
            c.log.append("again")
            continue
        finally:
            c.log.append("turn")
        break
    return y.sum() + sum(p.sum() for p in parts) + len(rest)


def deep(x: Any, n: int) -> Any:
    """Recursion to a depth that is given."""
    return x if n == 0 else deep(x + 1, n - 1) * 1


def endless(x: Any) -> Any:
    """Recursion that only its limit ends."""
    return endless(x + 1) + 1


def parts_of(x: Any, log: list) -> Iterator[Any]:
    """A generator whose end is logged."""
    try:
        for i in range(4):
            log.append(i)
            yield x * i
    finally:
        log.append("closed")


def left_midway(x: Any, log: list, how: int) -> Any:
    """Generators that are dropped, closed, thrown into, used up or handed out, midway."""
    g, h = parts_of(x, log), parts_of(x + 1, log)
    y = next(g) + next(h) + next(h)
    if how == 0:
        g.close()
    elif how == 1:
        try:
            g.throw(KeyError("thrown"))
        except KeyError:
            y = y * 2
    elif how == 2:
        y = y + sum(g)
    elif how == 3:
        del g
    return (y, h) if how > 3 else y


def mixed(x: Any, state: dict, k: int) -> Any:
    """Sizes, numbers and objects that change, a break, and a side effect."""
    state["calls"] = state.get("calls", 0) + 1
    y = (x * k).relu()
    if k % 3 == 0:
        weft._dynamo.graph_break()
    return y.sum() + x.shape[0]


def outcome(call: Callable, *args: Any) -> Any:
    """What a call gives, as plain data."""
    try:
        found = call(*args)
    except Exception as e:
        return type(e).__name__, e.args if not isinstance(e, RecursionError) else ()
    rest = None
    if isinstance(found, tuple):
        found, generator = found
        rest = next(generator).tolist()
        del generator
        gc.collect()
    return found.tolist(), rest


class Soak:
    """`rounds` counts comparisons; `wrong` has a line for each that failed."""

    def __init__(self) -> None:
        self.rounds = 0
        self.wrong: list[str] = []
        self.until = 0.0

    def same(self, what: str, compiled: Any, plain: Any) -> None:
        self.rounds += 1
        if compiled != plain:
            self.wrong.append(f"{what}: compiled {compiled}, plain {plain}")

    def exceptions(self, r: random.Random) -> None:
        """An exception at each step of the program, until there are no more."""
        compiled, x = weft.compile(at_every_step, backend="eager"), weft.arange(3.0)
        for left in range(1, 60):
            ours, theirs = Countdown(left), Countdown(left)
            got, want = outcome(compiled, x, ours), outcome(at_every_step, x, theirs)
            self.same(f"an exception at step {left}", (got, ours.log), (want, theirs.log))
            if theirs.left > 0:
                break

    def recursion(self, r: random.Random) -> None:
        x, n = weft.ones(2), r.choice([0, 1, 7, 40, 90])
        self.same(f"recursion to {n}", outcome(weft.compile(deep, backend="eager"), x, n), outcome(deep, x, n))

    def recursion_without_end(self, r: random.Random) -> None:
        x = weft.ones(2)
        self.same("recursion without end", outcome(weft.compile(endless, backend="eager"), x), outcome(endless, x))

    def generators(self, r: random.Random) -> None:
        compiled = weft.compile(left_midway, backend="eager")
        for how in range(5):
            ours: list = []
            theirs: list = []
            x = weft.rand(r.choice([2, 3, 5]))
            got, want = outcome(compiled, x, ours, how), outcome(left_midway, x, theirs, how)
            gc.collect()
            self.same(f"generators left midway, {how}", (got, ours), (want, theirs))

    def changes(self, r: random.Random) -> None:
        state: list[dict] = [{}, {}]
        compiled = weft.compile(mixed, backend=r.choice(["eager", "aot_eager"]))
        for _ in range(6):
            x, k = weft.ones(r.randint(1, 6), 2), r.randint(1, 6)
            got, want = outcome(compiled, x, state[0], k), outcome(mixed, x, state[1], k)
            self.same("sizes and numbers", (got, state[0]), (want, state[1]))

    def thread(self, seed: int) -> None:
        r = random.Random(seed)
        try:
            while time.monotonic() < self.until:
                r.choice([self.exceptions, self.recursion, self.recursion_without_end, self.generators, self.changes])(r)
                if r.random() < 0.02:
                    weft.compiler.reset()
        except BaseException as e:  # told by the main thread
            self.wrong.append(f"thread {seed}: {type(e).__name__}: {e}")
            raise


def soak(seconds: float, threads: int) -> Soak:
    """Run all programs in many threads at once for some seconds."""
    found = Soak()
    found.until = time.monotonic() + seconds
    warnings.simplefilter("ignore")  # of limits that are reached
    before = threading.stack_size(16 * 2**20)
    workers = [threading.Thread(target=found.thread, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    threading.stack_size(before)
    for worker in workers:
        worker.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--threads", type=int, default=64)
    options = parser.parse_args()
    done = soak(options.seconds, options.threads)
    print(*dict.fromkeys(done.wrong), sep="\n")
    print(f"{done.rounds} comparisons in {options.threads} threads, {len(done.wrong)} wrong")
    return 1 if done.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
