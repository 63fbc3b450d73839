"""`dir` of a module names what is looked up on first use, too, and `import *` of functions brings every function."""

import importlib
import subprocess
import sys

import pytest

NAMES = {
    "weft": "memory_format conv2d compile",
    "weft.nn.functional": "conv2d linear gelu scaled_dot_product_attention grad",
    "weft.nn.utils": "clip_grad_norm_ parametrize",
    "weft.autograd": "gradcheck functional forward_ad",
    "weft.fx": "Graph GraphModule symbolic_trace",
    "weft.export": "Dim ExportedProgram",
    "weft.cuda": "amp FloatTensor",
    "weft.cpu": "amp",
    "weft.distributed": "DeviceMesh",
    "weft._dynamo": "OptimizedModule disable utils",
}


@pytest.mark.parametrize("module", NAMES)
def test_dir_names_what_is_looked_up_on_first_use(module):
    code = f"import importlib; print(*dir(importlib.import_module({module!r})))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(NAMES[module].split()) - set(names)
    assert all(hasattr(importlib.import_module(module), name) for name in NAMES[module].split())


def test_every_function_comes_with_a_star():
    code = "from weft.nn.functional import *; print(conv2d, linear, pixel_shuffle, softplus)"
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
