"""Threads that make, share, rebind and drop tensors, lists, indices and histories at once: for the free lists, the parked memory
and the pool.

    python -m tests.fuzz.stress --seconds 60 --threads 6
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import weft
from aten import _native

_SIZES = [(), (3,), (0,), (64,), (2, 3, 4, 5, 6, 7), (300, 300), (5, 70000)]


OPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x @ y,
    lambda x, y: x.sum(0, keepdim=True),
    lambda x, y: x.softmax(-1),
    lambda x, y: x.sort(),
    lambda x, y: x.t().contiguous(),
    lambda x, y: x.var(0, keepdim=True),
    lambda x, y: x.exp().mean(),
    lambda x, y: x.argmax(1),
    lambda x, y: x.cumsum(0),
]


INDEXED: list[Callable[[Any, Any], Any]] = [
    lambda x, i: weft.gather(x, 1, i),
    lambda x, i: x.scatter(1, i, x),
    lambda x, i: weft.nn.functional.embedding(i, x),
]


class Shared:
    """What all threads use at once."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.tensors = [weft.rand(300, 300) for _ in range(4)]
        self.index = weft.zeros(300, 300, dtype=weft.int64)
        self.pieces = [weft.rand(300, 300) for _ in range(5)]
        self.leaf = weft.rand(300, 300, requires_grad=True)
        self.calls = 0
        self.wrong: list[str] = []


def _rebind(s: Shared, r: random.Random) -> None:
    r.choice(s.tensors).data = weft.rand(300, 300) if r.random() < 0.7 else weft.ones(2, 2)


def _compute(s: Shared, r: random.Random) -> None:
    r.choice(OPS)(r.choice(s.tensors), r.choice(s.tensors))


def _index(s: Shared, r: random.Random) -> None:
    if r.random() < 0.4:
        s.index.fill_(r.choice([0, 299, 300, 2**40, -1]))
    else:
        x = r.choice(s.tensors)
        r.choice(INDEXED)(x, s.index)


def _lists(s: Shared, r: random.Random) -> None:
    if r.random() < 0.5:
        s.pieces.clear()
        s.pieces.extend(weft.rand(300, 300) for _ in range(r.randrange(1, 6)))
    else:
        r.choice([weft.cat, weft.stack])(s.pieces)


def _small(s: Shared, r: random.Random) -> None:
    """Free lists: tensors, storages, nodes and what they save, made and dropped by the hundred, in other threads too."""
    made: list[Any] = [weft.empty(r.choice(_SIZES)) for _ in range(r.randrange(300))]
    made += [m.view(-1)[:1] for m in made[:50] if m.numel()]
    s.pieces.append(weft.ones(300, 300))
    del made[:: r.randrange(1, 4)]
    x = weft.ones(4, requires_grad=True)
    for _ in range(r.randrange(40)):
        x = (x * 2).tanh()
    if r.random() < 0.5:
        x.sum().backward()


def _history(s: Shared, r: random.Random) -> None:
    y = (s.leaf * r.choice(s.tensors)).exp().sum()
    if r.random() < 0.5:
        s.leaf.grad = None
    y.backward()


def _exports(s: Shared, r: random.Random) -> None:
    x = weft.rand(r.randrange(1, 100000))
    shown = r.choice([weft.Tensor.numpy, memoryview, lambda t: t.view(-1)])(x)
    x.data = weft.rand(3)
    del x
    shown[0]


def _resize(s: Shared, r: random.Random) -> None:
    x = weft.rand(300)
    s.tensors[r.randrange(len(s.tensors))] = x.resize_(r.choice([10, 300, 90000]))
    if r.random() < 0.2:
        _native.empty_cache()
    if r.random() < 0.02:
        gc.collect()


WORK: list[Callable[[Shared, random.Random], None]] = [_rebind, _compute, _index, _lists, _small, _history, _exports, _resize]


def _thread(s: Shared, seed: int) -> None:
    r = random.Random(seed)
    while not s.stop.is_set():
        work = r.choice(WORK)
        s.calls += 1
        try:
            work(s, r)
        except (RuntimeError, IndexError, ValueError):  # sizes and indices that do not fit at this moment
            continue
        except BaseException as error:
            s.wrong.append(f"{work.__name__}: {type(error).__name__}: {error}")
            raise


def stress(seconds: float, threads: int = 6, seed: int = 0) -> Shared:
    """Run for so long; `wrong` has what should not have happened."""
    shared, before = Shared(), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    running = [threading.Thread(target=_thread, args=(shared, seed + i)) for i in range(threads)]
    try:
        for thread in running:
            thread.start()
        time.sleep(seconds)
    finally:
        shared.stop.set()
        for thread in running:
            thread.join()
        sys.setswitchinterval(before)
    return shared


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    done = stress(options.seconds, options.threads, options.seed)
    print(f"{done.calls} calls of {options.threads} threads, seed {options.seed}: {len(done.wrong)} wrong")
    print("\n".join(done.wrong[:10]))
    return 1 if done.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
