"""550 generated graphs: compiled equals eager, on kernels alone. `WEFT_FUZZ=start:stop` chooses other seeds."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

from aten import settings
from aten.fx.interpreter import Interpreter
from inductor import _runner, choices
from inductor.codegen import cpp, toolchain
from inductor.codegen.cpp_vector import Isa, native_isa
from inductor.ir.buffer import Kernel
from inductor.lowering import exact
from inductor.lowering.graph import lower
from inductor.schedule.kernels import schedule
from inductor.schedule.memory import plan
from tests.fuzz.generate import Generator, Rows
from tests.inductor.graphs import compile_cached, tensor

START, STOP = map(int, os.environ.get("WEFT_FUZZ", "0:500").split(":"))
BATCH = 50  # graphs in one translation unit
TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
KERNELS_PER_GRAPH = 3.8  # 30 operations at most, 17 on average; measured 3.55


@pytest.fixture(autouse=True)
def loops_for_everything(monkeypatch):
    """Ops that stay themselves where nothing fuses with them are loops here, as they are among others; so are those that exact
    mode leaves to eager."""
    monkeypatch.setattr(choices, "KEPT", ())
    monkeypatch.setattr(exact, "lowers", lambda node: True)


@pytest.fixture
def narrow(monkeypatch):
    """Kernels are compiled as on a machine without AVX-512."""
    flags = toolchain.cpu_flags()
    monkeypatch.setattr(toolchain, "cpu_flags", lambda: flags - {"avx512f"})
    toolchain._compiler.cache_clear()
    yield
    toolchain._compiler.cache_clear()


def build(seed: int, kind: type[Generator] = Generator, isa: Isa = native_isa()):
    """(generator, program, kernels, their text) of one graph. Halves round at every op, as eager does."""
    g = kind(seed)
    with settings.patch(exact=g.half):
        lowered = lower(g.module)
        made = schedule(lowered, f"g{seed}_")
        kernels = [s for s in made.steps if isinstance(s, Kernel)]
        assert len(kernels) == len(made.steps), "an op without loops"
        text = [cpp.render_kernel(k, made.buffers, lowered.hints, lowered.ranges, isa) for k in kernels]
    return g, plan(made), kernels, text


def compare(g: Generator, program, library: str | None) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = Interpreter(g.module).run(*map(tensor, g.arrays))
    got = _runner.Program(program.to_data(), library)(*map(tensor, g.arrays))
    for a, b in zip(got, want, strict=True):
        a, b = a.numpy(), b.numpy()
        assert a.shape == b.shape and a.dtype == b.dtype
        tolerance = TOLERANCE.get(a.dtype.name, 0)
        np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("start", range(START, STOP, BATCH))
def test_compiled_equals_eager(start):
    built = {seed: build(seed) for seed in range(start, min(start + BATCH, STOP))}
    assert run(built) <= KERNELS_PER_GRAPH * len(built)


@pytest.mark.skipif(native_isa() == Isa(32), reason="registers are that narrow here: the test above does it")
@pytest.mark.parametrize("start", range(300, 400, BATCH))
def test_narrow_registers(start, narrow):
    """In seed 350 a compiler's own vectoriser once lost a row."""
    run({seed: build(seed, isa=Isa(32)) for seed in range(start, start + BATCH)})


@pytest.mark.parametrize("start", range(START, START + (STOP - START) // 10, BATCH))
def test_rows(start):
    run({seed: build(seed, Rows) for seed in range(start, start + BATCH)})


def run(built: dict) -> int:
    """Compile and compare the graphs; how many kernels they take."""
    kernels = [k for _, _, own, _ in built.values() for k in own]
    text = "\n".join([cpp.LINK, cpp.prelude(cpp.sections(kernels)), cpp.EXPORT,
                      *(t for *_, texts in built.values() for t in texts)])  # fmt: skip
    library = compile_cached(text)
    failed = {}
    for seed, (g, program, own, _) in built.items():
        try:
            compare(g, program, library if own else None)
        except AssertionError as e:
            failed[seed] = " ".join(str(e).split())[:200]
    assert not failed, failed
    return len(kernels)
