"""Answers at edges, as PyTorch 2.13 gives them."""

import subprocess
import sys

import pytest

import weft

inf, nan = float("inf"), float("nan")
F = weft.nn.functional

VALUES = [
    ("F.softmax(weft.tensor(-inf), 0)", [nan]),
    ("F.softmax(weft.tensor(3.0), 0)", [1.0]),
    ("F.log_softmax(weft.tensor(inf), 0)", [nan]),
    ("weft.angle(weft.tensor([-0.0, -1.0, nan]))", [0.0, 3.1415927410125732, nan]),
    ("weft.ones(2).add(1, 2)", [3.0, 3.0]),
    ("weft.sub(weft.ones(2), 1, 2)", [-1.0, -1.0]),
    ("weft.rsub(weft.ones(2), 1, 2)", [-1.0, -1.0]),
    ("weft.tensor([nan, -nan, inf]).to(weft.float8_e5m2).view(weft.uint8)", [127, 255, 124]),
    ("weft.ones(0).norm(1)", [0.0]),
    ("weft.ones(0, 3).norm(inf, dim=1)", []),
    ("weft.full((2,), 1.5, out=weft.empty(0, dtype=weft.int64))", [1, 1]),
    ("weft.linspace(0, 1, 3, out=weft.empty(0, dtype=weft.uint8))", [0, 0, 1]),
    ("weft.eye(1, out=weft.empty(0, dtype=weft.bool))", [1]),
    ("weft.sum(weft.ones(2), 0, out=weft.empty(0, dtype=weft.float64))", [2.0]),
    ("weft.any(weft.ones(2), 0, out=weft.empty(0, dtype=weft.uint8))", [1]),
]

ERRORS = [
    ("weft.ones(0).norm(inf)", RuntimeError, "cannot compute the inf norm on an empty tensor"),
    ("weft.ones(3, 0).norm(inf, dim=1)", RuntimeError, "cannot compute the inf norm on the dimension 1"),
    ("weft.ones(0).norm(-1)", RuntimeError, "cannot compute the -1 norm"),
    ("weft.argmax(weft.ones(2), out=weft.empty(0))", RuntimeError, "Expected out tensor to have dtype Long"),
    ("weft.mm(weft.ones(2, 2), weft.ones(2, 2), out=weft.empty(0, dtype=weft.float64))", RuntimeError, "Expected out tensor"),
    ("weft.any(weft.ones(2), 0, out=weft.empty(0))", RuntimeError, "only supports bool tensor for result"),
    ("weft.heaviside(weft.ones(1, requires_grad=True), weft.ones(1)).backward()", RuntimeError, "derivative for aten::heaviside"),
    ("weft.igamma(weft.ones(1, requires_grad=True), weft.ones(1)).backward()", NotImplementedError, "for .igamma: input. is not"),
]


def run(program):
    return eval(program, {"weft": weft, "F": F, "inf": inf, "nan": nan})


@pytest.mark.parametrize("program, wanted", VALUES)
def test_values(program, wanted):
    made = run(program).reshape(-1).double()
    weft.testing.assert_close(made, weft.tensor(wanted, dtype=weft.float64), equal_nan=True)


@pytest.mark.parametrize("program, error, text", ERRORS)
def test_errors(program, error, text):
    with pytest.raises(error, match=text) as caught:
        run(program)
    assert caught.type is error


@pytest.mark.parametrize("program, error, text", [row for row in ERRORS if "out=" in row[0]])
def test_errors_of_compiled_calls(program, error, text):
    with pytest.raises(error, match=text):
        weft.compile(lambda: run(program), backend="aot_eager")()
    f = weft.compile(lambda x, out: weft.mm(x, x, out=out), backend="aot_eager")
    with pytest.raises(RuntimeError, match="Expected out tensor"):
        f(weft.ones(2, 2), weft.ones(2, 2, dtype=weft.float64))


@pytest.mark.parametrize("program", ["x.polygamma(1)", "x.diag().slogdet()[1]", "weft.autograd.grad(x.digamma().sum(), x)[0]"])
def test_methods_whose_families_are_loaded_on_demand(program):
    code = f"import weft\nx = weft.full((1,), 2.5, requires_grad=True)\nprint(round({program}.item(), 4))"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(made.stdout) == (0.9163 if "slogdet" in program else 0.4904)
