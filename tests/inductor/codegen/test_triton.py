"""The same kernels as Triton text: run by its interpreter in a fresh process, and compiled for a GPU that is not
there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
ROOT = Path(__file__).parents[3]


def python(*args: str, **env: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    done = subprocess.run([sys.executable, *args], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_pointwise_reductions_products_and_checks_on_the_interpreter():
    python("-m", "tests.inductor.codegen.triton_process", "graphs", TRITON_INTERPRET="1")


def test_generated_graphs_on_the_interpreter():
    out = python("-m", "tests.inductor.codegen.triton_process", "fuzz", "0", "50", TRITON_INTERPRET="1")
    assert out.split() == ["50"]


COMPILE = """
import importlib.util, sys, tempfile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from inductor.codegen import triton as codegen
from inductor.lowering.graph import lower
from inductor.schedule.kernels import schedule
from aten import float32
from tests.inductor.graphs import CPU, Builder

b = Builder()
x, w = b.input("x", (33, 40)), b.input("w", (40, 70))
y = b("gelu", b("mm", x, w), approximate="none")
e = b("exp", b("sub", y, b("amax", y, [1], True)))
draw = b("randn_philox", [40, 70], 5, 6, dtype=float32, device=CPU)
made = schedule(lower(b.module(b("div", e, b("sum", e, [1], True)), b("sum", x, [0], False), b("add", b("tanh", w), draw))))
path = tempfile.mkdtemp() + "/kernels.py"
open(path, "w").write(codegen.render(made.steps, made.buffers))
spec = importlib.util.spec_from_file_location("kernels", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for k in made.steps:
    for fn, grid, constants in module.LAUNCHES[k.name]:
        signature = {f"b{i}": "*fp32" for i in range(len(k.args))} | {"failed": "*i64"}
        signature |= dict.fromkeys(constants, "constexpr")
        done = compile(ASTSource(fn, signature, constants), target=GPUTarget("cuda", 90, 32))
        assert done.asm["cubin"]
print(len(made.steps))
"""


def test_kernels_compile_for_a_gpu_that_is_not_there(tmp_path):
    out = python("-c", COMPILE, TRITON_CACHE_DIR=str(tmp_path))
    assert int(out) == 2  # the product with its epilogue, and three nests in one kernel


def test_places_are_64_bits_wide_and_grids_have_one_dim():
    """program_id is 32 bits: a product of it would wrap at 2^31 elements; grids end at 65535 beyond their first dim."""
    from inductor.codegen import triton as codegen
    from inductor.lowering.graph import lower
    from inductor.schedule.kernels import schedule
    from tests.inductor.graphs import Builder

    b = Builder()
    x, w = b.input("x", (3, 33, 40)), b.input("w", (3, 40, 70))
    made = schedule(lower(b.module(b("bmm", x, w), b("sum", x, [0], False))))
    text = codegen.render(made.steps, made.buffers)
    body = text.partition("LAUNCHES")[0]
    assert body.count("tl.program_id(0).to(tl.int64)") == body.count("tl.program_id(") >= 2
    grids = [line for line in text.partition("LAUNCHES")[2].splitlines() if "lambda" in line]
    assert grids and all("lambda : (cdiv(" in g and ",)" in g for g in grids), grids
