"""Threads that compile, run, reset, collect and let go of what is guarded, all at once.

WEFT_STRESS_SECONDS lengthens it (`make asan` runs it for a minute).
"""

import gc
import os
import random
import sys
import threading
import time

import pytest

import weft
from aten import errors, settings
from dynamo import _eval_frame
from weft import nn

SECONDS = float(os.environ.get("WEFT_STRESS_SECONDS", "3"))


@pytest.fixture(autouse=True)
def switching():
    old, limit = sys.getswitchinterval(), sys.getrecursionlimit()
    sys.setswitchinterval(1e-5)
    # Modules change while they are being compiled here: a guard may then fail for the call it was made for, and says so.
    with settings.patch(strict=False):
        yield
    sys.setswitchinterval(old)
    weft.compiler.reset()
    errors.forget_warnings()
    assert sys.getrecursionlimit() == limit  # tracing goes deeper than it, each thread by itself
    assert not _eval_frame.is_open() and _eval_frame.active_config() is None


def run_threads(work, n=4):
    failed = []
    stop = time.monotonic() + SECONDS

    def guarded(i):
        rng = random.Random(i)
        try:
            while time.monotonic() < stop and not failed:
                work(rng)
        except BaseException as e:
            failed.append(e)
            raise

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


class Sub(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.k = 1

    def forward(self, x):
        y = self.l(x) * self.k
        str(1.5 + self.k).encode()
        time.time()
        return y + 1


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.ModuleList([Sub(), Sub()])

    def forward(self, x, n):
        for i, s in enumerate(self.s):
            x = s(x)
            if i < n:
                time.sleep(0)
        return x.sum()


@pytest.mark.filterwarnings("ignore")
def test_modules_with_breaks_under_threads_resets_and_collections():
    model = Model()
    compiled = weft.compile(model, backend="eager")

    def work(rng):
        x, n = weft.ones(rng.randint(1, 5), 4), rng.randint(0, 2)
        with weft.no_grad() if rng.random() < 0.5 else weft.enable_grad():
            compiled(x, n)
        if rng.random() < 0.02:
            model.s[0].k = rng.randint(1, 3)
        if rng.random() < 0.01:
            weft.compiler.reset()
        if rng.random() < 0.01:
            gc.collect()

    run_threads(work)


@pytest.mark.filterwarnings("ignore")
def test_closures_and_classes_that_come_and_go_under_threads():
    def make(n):
        class Scale:
            def __init__(self):
                self.t = weft.ones(n)

            def by(self, x):
                return x * self.t.shape[0]

        scale = Scale()

        def helper(x):
            return scale.by(x) + 1

        def step(x, flag):
            y = helper(x)
            if flag:
                print(end="")
            return y * 2, scale

        return weft.compile(step, backend="eager"), scale

    shared = [make(n) for n in range(1, 4)]

    def work(rng):
        step, scale = rng.choice(shared) if rng.random() < 0.7 else make(rng.randint(1, 6))
        n = scale.t.shape[0]
        y, kept = step(weft.ones(2), rng.random() < 0.5)
        assert y.tolist() == [2 * (n + 1)] * 2 and kept is scale
        if rng.random() < 0.05:
            shared[rng.randrange(3)] = make(rng.randint(1, 6))
        if rng.random() < 0.01:
            weft.compiler.reset()
        if rng.random() < 0.02:
            gc.collect()

    run_threads(work)


@pytest.mark.filterwarnings("ignore")
def test_tensors_from_the_free_list_under_threads():
    class Slotted:
        __slots__ = ("t",)

    @weft.compile(backend="eager")
    def by_list(o, x):
        return x * o[0].shape[0]

    @weft.compile(backend="eager")
    def by_slot(s, x):
        return x * s.t.shape[0] + (100 if s.t.requires_grad else 0)

    @weft.compile(backend="eager")
    def metadata(x):
        return x * 2, x.shape[0]

    def work(rng):
        o, s, x = [None], Slotted(), weft.ones(1)
        for _ in range(20):
            n, grad = rng.randint(1, 4), rng.random() < 0.3
            o[0] = s.t = None
            o[0] = weft.ones(n)
            assert by_list(o, x).item() == n
            s.t = weft.ones(n)
            if grad:
                s.t.requires_grad_()
            assert by_slot(s, x).item() == n + 100 * grad
            doubled, size = metadata(o[0])
            assert size == n and doubled.tolist() == [2.0] * n
        if rng.random() < 0.01:
            gc.collect()

    run_threads(work)
