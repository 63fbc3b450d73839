"""Run in a fresh process with TRITON_INTERPRET=1: graphs through Triton's interpreter equal the eager ops."""

from __future__ import annotations

import sys
import warnings

import numpy as np

from aten import dtype as dtypes
from aten.fx.interpreter import Interpreter
from inductor.config import config
from inductor.lowering.graph import lower
from inductor.runtime.triton_host import CheckFailed, run
from inductor.schedule.kernels import schedule
from tests.fuzz.generate import Generator
from tests.inductor.graphs import CPU, Builder, tensor

TOLERANCE = {"float64": 1e-6, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
rng = np.random.default_rng(0)


def compare(module, arrays) -> None:
    lowered = lower(module)
    got = run(schedule(lowered), arrays, dict(lowered.hints), lowered.ranges)
    for a, b in zip(got, Interpreter(module).run(*map(tensor, arrays)), strict=True):
        b = b.numpy()
        assert a.shape == b.shape, (a.shape, b.shape)
        tolerance = TOLERANCE.get(b.dtype.name, 0)
        np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), rtol=tolerance, atol=tolerance, equal_nan=True)


def graphs() -> None:
    """A softmax, sums by rows and by columns, a product with its epilogue, random numbers, a failing index."""
    b = Builder()
    n = b.input("x", (5, 70))
    e = b("exp", b("sub", n, b("amax", n, [1], True)))
    compare(b.module(b("div", e, b("sum", e, [1], True))), [rng.normal(size=(5, 70)).astype("f4")])

    b = Builder()
    n = b.input("x", (40, 9))
    outputs = (
        b("sum", n, [0], False),
        b("gelu", n, approximate="none"),
        b("argmax", n, 0, False),
        b("sum", n, [0, 1], False),
    )
    compare(b.module(*outputs), [rng.normal(size=(40, 9)).astype("f4")])

    b = Builder()
    x, w, c, r = (b.input(k, s) for k, s in (("x", (4, 6, 40)), ("w", (35, 40)), ("c", (35,)), ("r", (4, 6, 35))))
    y = b("view", b("mm", b("view", x, [24, 40]), b("permute", w, [1, 0])), [4, 6, 35])
    arrays = [rng.normal(size=s).astype("f4") for s in ((4, 6, 40), (35, 40), (35,), (4, 6, 35))]
    compare(b.module(b("add", b("relu", b("add", y, c)), r)), arrays)

    b = Builder()
    x, seed, first = b.input("x", (6, 35)), 2**63 - 5, 2**32 - 3  # the counter's low word wraps
    draws = [
        b(name, [6, 35], seed, first, dtype=getattr(dtypes, dtype), device=CPU)
        for name in ("rand_philox", "randn_philox")
        for dtype in ("float32", "float64")
    ]
    draws.append(b("randint_philox", -3, 2**32 - 3, [6, 35], seed, first, dtype=dtypes.int64, device=CPU))
    dropped = b("where", b("ge", draws[0], 0.25), b("mul", x, 1 / 0.75), 0)
    compare(b.module(*draws, dropped, b("sum", dropped, [1], False)), [rng.normal(size=(6, 35)).astype("f4")])

    b = Builder()
    t, j = b.input("t", (10, 3)), b.input("j", (4,), "int64")
    lowered = lower(b.module(b("embedding", t, j)))
    table, index = rng.normal(size=(10, 3)).astype("f4"), np.array([0, 9, 3, 10])
    try:
        run(schedule(lowered), [table, index], {})
    except CheckFailed as e:
        assert e.check.op == "embedding"
    else:
        raise AssertionError("an index out of range went unnoticed")


def fuzz(start: int, count: int) -> int:
    """The first `count` small generated graphs from `start` on; returns how many were run."""
    done, seed = 0, start
    while done < count:
        g = Generator(seed)
        seed += 1
        if sum(a.size for a in g.arrays) > 2000:
            continue
        config.exact = g.half
        try:
            compare(g.module, g.arrays)
        except Exception as e:
            raise AssertionError(f"seed {seed - 1}") from e
        finally:
            config.exact = False
        done += 1
    return done


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "graphs":
        graphs()
    else:
        print(fuzz(int(sys.argv[2]), int(sys.argv[3])))
