"""The vector functions of vecmath.h against references in higher precision, at both vector widths."""

import ctypes
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from aten.scalar.table import table

HEADER = Path(__file__).parents[3] / "aten" / "native"
SOURCE = """
#include "vecmath.h"
#include "vecspecial.h"
#define T(name) extern "C" void t_##name(const float *x, float *y, long n) { \\
  for (long i = 0; i < n; i += LANES) { V v; __builtin_memcpy(&v, x + i, sizeof v); v = vm_##name(v); \\
                                        __builtin_memcpy(y + i, &v, sizeof v); } }
"""
# Of each row of the scalar vocabulary that states it: what it means, and its largest error in ulp.
FUNCTIONS = {name: (row.numpy, row.ulp) for name, row in table.items() if row.ulp is not None}


WIDTHS = {"f32x16": ("avx512f", "x86-64-v4"), "f32x8": ("avx2", "x86-64-v3"), "f32x8 of v4": ("avx512f", "x86-64-v4")}


@pytest.fixture(scope="module", params=WIDTHS)
def library(request, tmp_path_factory):
    flag, march = WIDTHS[request.param]
    width = request.param.split()[0]
    if flag not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this processor has no {flag}")
    folder = tmp_path_factory.mktemp("vecmath")
    (folder / "t.cpp").write_text(SOURCE + " ".join(f"T({name})" for name in FUNCTIONS))
    subprocess.run(
        [
            shutil.which("g++") or "c++",
            "-O2",
            f"-march={march}",
            "-std=c++17",
            "-fno-math-errno",
            "-fno-trapping-math",
            "-ffp-contract=off",
            "-fwrapv",
            "-Wall",
            "-Werror",
            "-Wno-psabi",
            "-shared",
            "-fPIC",
            f"-I{HEADER}",
            f"-DV={width}",
            f"-DLANES={width[4:]}",
            str(folder / "t.cpp"),
            "-o",
            str(folder / "t.so"),
            "-lmvec",
            "-lm",
        ],
        check=True,
    )
    return ctypes.CDLL(str(folder / "t.so"))


def run(library, name, x):
    y = np.empty_like(x)
    pointer = ctypes.c_void_p
    getattr(library, f"t_{name}")(pointer(x.ctypes.data), pointer(y.ctypes.data), ctypes.c_long(len(x)))
    return y


def inputs():
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**32, 1 << 16, dtype=np.uint64).astype(np.uint32).view(np.float32)
    usual = np.concatenate([rng.standard_normal(1 << 16) * 4, rng.uniform(-100, 100, 1 << 16)]).astype(np.float32)
    edges = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 1e-38, 3.4e38, 88.7, 88.73, -87.4, -103.9, -104.1],
        np.float32,
    )
    return np.concatenate([patterns, usual, edges])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_in_ulp_and_special_values(library, name):
    reference, limit = FUNCTIONS[name]
    x = inputs()
    with np.errstate(all="ignore"):
        exact = np.empty(x.shape)
        reference(x.astype(np.float64), out=exact)
        rounded = exact.astype(np.float32)
        got = run(library, name, x)
        finite = np.isfinite(rounded) & np.isfinite(got)
        equal = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        unit = np.spacing(np.maximum(np.abs(np.where(finite, rounded, 1)), np.finfo(np.float32).tiny)).astype(np.float64)
        error = np.where(finite, np.abs(got.astype(np.float64) - exact) / unit, 0)
    assert (equal | finite).all(), x[~(equal | finite)][:4]
    assert error.max() <= limit + 1e-6, (error.max(), x[error.argmax()])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_have_the_sign_that_they_mean(library, name):
    reference, x = FUNCTIONS[name][0], np.repeat(np.float32([-0.0, 0.0]), 16)
    means = np.empty_like(x)
    with np.errstate(all="ignore"):
        reference(x, out=means)
    assert (np.signbit(run(library, name, x)) == np.signbit(means)).all()


def test_erfinv_inverts_erf(library):
    x = np.concatenate([np.linspace(-0.99999, 0.99999, 4092), [1, -1, 1e-30, 2]]).astype(np.float32)
    with np.errstate(invalid="ignore"):
        y = run(library, "erfinv", x).astype(np.float64)
    back = np.array([math.erf(v) for v in y[:4092]])
    assert np.abs(back - x[:4092]).max() < 1.2e-7  # two of its units below 1
    assert y[4092] == np.inf and y[4093] == -np.inf and np.isnan(y[4095])


def test_a_value_gives_the_same_result_in_every_lane(library):
    x = np.repeat(np.float32([0.3, -2.7, 11.0]), 16)
    for name in FUNCTIONS:
        y = run(library, name, np.abs(x)).reshape(3, 16)
        np.testing.assert_array_equal(y, np.broadcast_to(y[:, :1], y.shape))
