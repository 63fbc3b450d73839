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
        done = compile(ASTSource(fn, signature, constants), target=GPUTarget("cuda", 90, 32), options=module.OPTIONS)
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


SCALARS = """
import importlib.util, sys, tempfile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from inductor.codegen import triton as codegen
from inductor.ir import scalar
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Dim, Nest, Stage, Store
from inductor.ir.nodes import call, load
from aten.symbolic.expr import as_expr, sym

NAMES = {"float32": "fp32", "float64": "fp64", "int64": "i64", "uint8": "u8", "bool": "i1"}
TEXTS = {n: " ".join(t for t in (r.f, r.i, r.b) if t) for n, r in scalar.table.items()}
ARGUMENTS = {n: sum("{" + str(k) + "}" in text for k in range(4)) for n, text in TEXTS.items()}
for dtype in sys.argv[1:]:
    stores, buffers = [], {f"x{k}": Buffer(f"x{k}", dtype, (as_expr(64),), (as_expr(1),)) for k in range(3)}
    for name in scalar.table:
        if not scalar.defined(name, dtype) or scalar.table[name].result == "own" or name == "bitcast" or name.startswith("round_"):
            continue
        values = [load(f"x{k}", sym("i0"), dtype) for k in range(ARGUMENTS[name])]
        if name == "where":
            values[0] = call("to_bool", (values[0],), "bool")
        result = "bool" if scalar.table[name].result == "bool" else dtype
        buffers[name] = Buffer(name, result, (as_expr(64),), (as_expr(1),))
        stores.append(Store(name, sym("i0"), call(name, tuple(values), result), result))
    for part in range(0, len(stores), 12):  # one function for all takes the assembler long
        body = tuple(stores[part : part + 12])
        names = ("x0", "x1", "x2", *(s.buffer for s in body))
        kernel = Kernel("k0", names, names[3:], (), (Nest((Dim("i0", as_expr(64), False),), (Stage(False, body),)),))
        path = tempfile.mkdtemp() + "/kernels.py"
        open(path, "w").write(codegen.render([kernel], buffers))
        spec = importlib.util.spec_from_file_location("kernels", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        ((fn, grid, constants),) = module.LAUNCHES["k0"]
        signature = {f"b{i}": "*" + NAMES[buffers[n].dtype] for i, n in enumerate(names)} | {"failed": "*i64"}
        signature |= dict.fromkeys(constants, "constexpr")
        done = compile(ASTSource(fn, signature, constants), target=GPUTarget("cuda", 90, 32), options=module.OPTIONS)
        assert done.asm["cubin"] and ".ftz" not in done.asm["ptx"].replace(".approx.ftz", ""), (dtype, names)
"""


def test_every_scalar_function_has_a_text():
    from inductor.codegen.triton_scalars import TEXTS
    from inductor.ir import scalar

    assert sorted(TEXTS) == sorted(scalar.table)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_every_scalar_function_compiles_for_a_gpu_that_is_not_there(tmp_path, dtype):
    python("-c", SCALARS, dtype, TRITON_CACHE_DIR=str(tmp_path))
