"""The same kernels as Triton text: run by its interpreter in a fresh process, and compiled for a GPU that is not
there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aten.symbolic.expr import as_expr, evaluate, sym
from inductor.codegen import triton as codegen
from inductor.codegen.triton_scalars import TEXTS
from inductor.codegen.triton_tiles import tile_of
from inductor.cuda import compile_server, images
from inductor.ir import scalar
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Dim, Nest, Stage, Store
from inductor.ir.nodes import call, load
from inductor.lowering.graph import lower
from inductor.schedule.kernels import schedule
from tests.inductor.graphs import Builder

pytest.importorskip("triton")
ROOT = Path(__file__).parents[3]


def python(*args: str, **env: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    done = subprocess.run([sys.executable, *args], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def functions(*outputs, builder):
    made = schedule(lower(builder.module(*outputs)))
    rendered = codegen.render(made.steps, made.buffers)
    return made, [f for k in made.steps for f in rendered[k.name]]


def ptx(f, capability=90):
    return compile_server.compiled(images.request(f, capability).data(), "ptx")[0]


def test_pointwise_reductions_products_and_checks_on_the_interpreter():
    python("-m", "tests.inductor.codegen.triton_process", "graphs", TRITON_INTERPRET="1")


def test_generated_graphs_on_the_interpreter():
    out = python("-m", "tests.inductor.codegen.triton_process", "fuzz", "0", "50", TRITON_INTERPRET="1")
    assert out.split() == ["50"]


def test_kernels_compile_for_a_gpu_that_is_not_there():
    b = Builder()
    x, w = b.input("x", (33, 40)), b.input("w", (40, 70))
    y = b("gelu", b("mm", x, w), approximate="none")
    e = b("exp", b("sub", y, b("amax", y, [1], True)))
    _, made = functions(b("div", e, b("sum", e, [1], True)), b("sum", x, [0], False), builder=b)
    assert len(made) == 3  # the product with its epilogue, and two nests
    for f in made:
        cubin, metadata = compile_server.compiled(images.request(f, 90).data())
        assert cubin[:4] == b"\x7fELF" and metadata["name"] == f.name and metadata["num_warps"] == f.warps


def test_places_are_as_wide_as_they_need_and_grids_have_one_dim():
    """program_id is 32 bits: a product of it would wrap at 2^31 elements."""
    b = Builder()
    x = b.input("x", (1 << 16, 1 << 16))
    _, (large,) = functions(b("neg", x), builder=b)
    assert "tl.program_id(0).to(tl.int64)" in large.text
    b = Builder()
    y = b.input("y", (1 << 10, 1 << 10))
    _, (small,) = functions(b("neg", y), builder=b)
    assert "int64" not in small.text
    for f, points in ((large, 1 << 32), (small, 1 << 20)):
        assert evaluate(f.grid, {}) * dict(f.constants)["XBLOCK"] == points


def softmax(b, x):
    e = b("exp", b("sub", x, b("amax", x, [1], True)))
    return b("div", e, b("sum", e, [1], True))


def transposed(b, x):
    return b("add", x, b("permute", b.input("w", (1024, 64)), [1, 0]))


@pytest.mark.parametrize("mode, make", [("points", lambda b, x: b("relu", x)), ("whole", softmax), ("tiles", transposed)])
def test_accesses_move_sixteen_bytes(mode, make):
    b = Builder()
    _, (f,) = functions(make(b, b.input("x", (64, 1024))), builder=b)
    text = ptx(f)
    assert f.name.startswith(mode)
    assert "ld.global.v4.b32" in text and "st.global.v4.b32" in text and "ld.global.b32" not in text, f.text


def test_rows_are_read_once_where_a_program_holds_them():
    for columns, mode, loads in ((1024, "whole", 1), (8192, "looped", 3)):
        b = Builder()
        _, (f,) = functions(softmax(b, b.input("x", (16, columns))), builder=b)
        assert f.name.startswith(mode) and f.text.count("tl.load(") == loads


def test_rows_of_odd_length_are_walked_through_by_one_number():
    b = Builder()
    x, y = b.input("x", (16, 1023)), b.input("y", (16, 1023))
    _, (f,) = functions(b("add", x, y), builder=b)
    assert "//" not in f.text and "%" not in f.text


def test_products_use_tensor_cores():
    b = Builder()
    x, w = b.input("x", (256, 256), "bfloat16"), b.input("w", (256, 256), "bfloat16")
    _, (f,) = functions(b("mm", x, w), builder=b)
    assert "wgmma.mma_async" in ptx(f, 90) and "mma.sync" in ptx(f, 80)


def test_tiles_of_reductions_follow_what_lies_side_by_side():
    b = Builder()
    x = b.input("x", (4096, 512))
    made, _ = functions(b("sum", x, [0], False), b("sum", x, [1], False), builder=b)
    tiles = [tile_of(nest, made.buffers, {}) for k in made.steps for nest in k.body]
    by_columns, by_rows = sorted(tiles, key=lambda t: t.mode)
    assert (by_columns.mode, by_columns.xblock >= 32) == ("looped", True)
    assert (by_rows.mode, by_rows.rblock) == ("whole", 512)


def test_an_operand_that_one_dim_alone_walks_through_makes_no_tiles():
    b = Builder()
    x, column = b.input("x", (512, 256)), b.input("column", (512, 1))
    made, _ = functions(b("add", x, column), builder=b)
    assert {tile_of(nest, made.buffers, {}).mode for k in made.steps for nest in k.body} == {"points"}
    b = Builder()
    table, rows = b.input("table", (512, 256)), b.input("rows", (128,), "int64")
    made, _ = functions(b("index_select", table, 0, rows), builder=b)
    assert [tile_of(nest, made.buffers, {}).mode for k in made.steps for nest in k.body] == ["points"]


def test_every_scalar_function_has_a_text():
    assert sorted(TEXTS) == sorted(scalar.table)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_every_scalar_function_compiles_for_a_gpu_that_is_not_there(dtype):
    texts = {n: " ".join(t for t in (r.f, r.i, r.b) if t) for n, r in scalar.table.items()}
    stores, buffers = [], {f"x{k}": Buffer(f"x{k}", dtype, (as_expr(64),), (as_expr(1),)) for k in range(3)}
    for name, text in texts.items():
        own = scalar.table[name].result == "own" or name == "bitcast" or name.startswith("round_")
        if own or not scalar.defined(name, dtype):
            continue
        values = [load(f"x{k}", sym("i0"), dtype) for k in range(sum("{" + str(k) + "}" in text for k in range(4)))]
        if name == "where":
            values[0] = call("to_bool", (values[0],), "bool")
        result = "bool" if scalar.table[name].result == "bool" else dtype
        buffers[name] = Buffer(name, result, (as_expr(64),), (as_expr(1),))
        stores.append(Store(name, sym("i0"), call(name, tuple(values), result), result))
    for part in range(0, len(stores), 12):  # one function for all takes the assembler long
        body = tuple(stores[part : part + 12])
        names = ("x0", "x1", "x2", *(s.buffer for s in body))
        kernel = Kernel("k0", names, names[3:], (), (Nest((Dim("i0", as_expr(64), False),), (Stage(False, body),)),))
        (f,) = codegen.render([kernel], buffers)["k0"]
        text = ptx(f)
        assert ".ftz" not in text.replace(".approx.ftz", ""), (dtype, names)
