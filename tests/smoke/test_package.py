"""The package as a whole: what it exports, what it imports, what it never imports."""

import subprocess
import sys

import weft


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_pytorch_names_are_there():
    assert weft.float32.itemsize == 4 and weft.nn.Linear and weft.optim.AdamW and weft.Tensor


def test_aliases_are_the_same_modules():
    out = run(
        "import weft, dynamo, inductor, aten.fx, weft._dynamo, weft._inductor, weft.fx; import sys\n"
        "print(weft._dynamo is dynamo, weft._inductor is inductor, weft.fx is aten.fx, sys.modules['weft._dynamo'] is dynamo)"
    )
    assert out == "True True True True"


def test_importing_weft_leaves_heavy_modules_alone():
    out = run(
        "import sys, weft; weft.ones(2) + 1\n"
        "heavy = 'torch', 'sympy', 'bytecode', 'triton', 'numpy.random', 'aten.autograd.gradcheck'\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    assert out == "[]"
