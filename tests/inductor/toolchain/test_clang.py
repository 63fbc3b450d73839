"""Kernels are C++ that clang takes, too; CI machines without it have nothing to ask."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import weft

def close(f, *args):
    made, expected = weft.compile(f, fullgraph=True)(*args), f(*args)
    assert made.dtype is expected.dtype and weft.allclose(made, expected), f

x, y = weft.rand(1000), weft.rand(37, 50)
for dtype in (weft.float32, weft.float64, weft.bfloat16, weft.int64, weft.int8, weft.bool):
    close(lambda x: x + x.to(dtype), (x * 50).to(dtype))
    close(lambda x: weft.stack([x, x], -1), (x * 50).to(dtype))
close(lambda y: weft.softmax(y, -1).exp().log1p(), y)
close(lambda y: y.sum(0) + y.t().contiguous().amax(1), y)
close(lambda y: (y.half() * 2).float().tanh(), y)
close(lambda x: weft.nn.functional.gelu(x).erf(), x)
"""


@pytest.mark.skipif(shutil.which("clang++") is None, reason="no clang++ on PATH")
def test_kernels_are_compiled_by_clang(tmp_path):
    env = {**os.environ, "WEFT_CXX": str(shutil.which("clang++")), "WEFT_STRICT": "1", "WEFT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
