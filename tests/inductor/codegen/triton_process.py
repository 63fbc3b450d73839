"""Run in a fresh process with TRITON_INTERPRET=1: graphs through Triton's interpreter equal the eager ops."""

from __future__ import annotations

import sys
import warnings

import numpy as np

from aten import dtype as dtypes
from aten import settings
from aten.fx.interpreter import Interpreter
from inductor import choices
from inductor.lowering import exact
from inductor.lowering.graph import lower
from inductor.schedule.kernels import schedule
from tests.fuzz.generate import Generator
from tests.inductor.codegen.triton_host import CheckFailed, run
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


def specials() -> None:
    """Signed zeros, infinities, small and large arguments, divisions by zero: as eager, to a few units in the last place."""
    inf, nan = np.inf, np.nan
    unary = {
        "neg": [0.0, 1.0, -0.0, inf],
        "trunc": [-0.5, 0.5, -0.0, 3.7],
        "log1p": [inf, 1e20, -1.0, 1e-10, -0.0, nan, 0.5],
        "expm1": [0.0101, 0.0099, -100.0, 100.0, 1e-9, -0.0, inf, -inf, nan, 1.0],
        "tanh": [0.0041, 0.01, 100.0, -100.0, nan, 1e-8, -0.0, inf, -0.7],
        "sinh": [1e-8, 1e-4, 1e-3, 0.1, 80.0, -89.2, -0.0, inf, -inf, nan],
        "cosh": [1e-8, 0.1, 80.0, -89.2, inf, nan],
    }
    for dtype, tolerance in (("f4", 1e-6), ("f8", 1e-13)):
        for name, values in unary.items():
            special(name, tolerance, np.array(values, dtype))
        a, b = np.array([7, -7, 5.5, 1, 0, -6, 7], dtype), np.array([2, 2, -2, 0, 3, 3, -2], dtype)
        for name in ("floor_divide", "remainder", "fmod", "pow", "atan2", "hypot", "copysign", "nextafter"):
            special(name, tolerance, a, b)
        bases, powers = [0, -0.0, -2, -2, inf, -inf, nan, 1, 2], [0, -1, 3, 0.5, -1, 3, 0, nan, 70]
        special("pow", tolerance, np.array(bases, dtype), np.array(powers, dtype))
        inside = np.array([-1, -0.5, -0.0, 1e-9, 0.3, 1, 1.5, nan], dtype)
        around = np.array([-2.5, -1, -0.0, 1e-3, 3, 60, inf, nan], dtype)
        for name in ("asin", "acos", "atanh", "erfinv"):
            special(name, 20 * tolerance, inside)
        for name in ("atan", "asinh", "acosh", "tan", "erfc", "lgamma", "digamma", "round", "floor", "ceil", "log10"):
            special(name, 20 * tolerance, around)
        special("signbit", 0, around)
    for dtype in ("i8", "i4", "i2", "u1"):
        a, b = np.array([3, -3, 0, 1, -1, 7, 2, 100], "i8").astype(dtype), np.array([2, 3, 0, 70, 9, 1, 63, 8], "i8").astype(dtype)
        for name in ("pow", "bitwise_left_shift", "bitwise_right_shift"):
            special(name, 0, a, b)
        for name in ("floor_divide", "remainder"):
            special(name, 0, a, np.where(b == 0, 1, b))


def special(name: str, tolerance: float, *arrays) -> None:
    b = Builder()
    module = b.module(b(name, *[b.like(f"x{k}", x) for k, x in enumerate(arrays)]))
    lowered = lower(module)
    with np.errstate(all="ignore"):
        (got,) = run(schedule(lowered), [x.copy() for x in arrays], dict(lowered.hints), lowered.ranges)
    want = Interpreter(module).run(*map(tensor, arrays))[0].numpy()
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=0, equal_nan=True, err_msg=name)
    known = ~np.isnan(want)
    assert np.array_equal(np.signbit(got[known]), np.signbit(want[known])), (name, got, want)


def fuzz(start: int, count: int) -> int:
    """The first `count` small generated graphs from `start` on; returns how many were run."""
    done, seed = 0, start
    while done < count:
        g = Generator(seed)
        seed += 1
        if sum(a.size for a in g.arrays) > 2000:
            continue
        try:
            with settings.patch(exact=g.half):
                compare(g.module, g.arrays)
        except Exception as e:
            raise AssertionError(f"seed {seed - 1}") from e
        done += 1
    return done


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    choices.KEPT = ()  # what stays an op where nothing fuses with it, or in exact mode, is a loop here
    exact.lowers = lambda node: True
    if sys.argv[1] == "graphs":
        graphs()
        specials()
    else:
        print(fuzz(int(sys.argv[2]), int(sys.argv[3])))
