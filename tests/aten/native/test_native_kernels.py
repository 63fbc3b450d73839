"""A native kernel gives what the op's NumPy kernel gives, and leaves to it what it has no loop for."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aten import _native, arrays, dispatch
from aten import dtype as dtypes
from aten.op import registry
from aten.tensor import from_numpy
from tests.aten.native.kernel_calls import CALLS, POLYNOMIALS, flat, results, tensor

SIGNS = {"linalg_eigh", "linalg_svd"}  # vectors are so up to signs: tests/aten/ops/test_lapack.py
KERNELS = sorted(_native.native_kernels().keys() - SIGNS)
DTYPES = "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64".split()
ROUNDED = """label_margins label_margins_backward nearest_backward recurrent_layer recurrent_layer_backward
row_distances row_distances_backward row_distances_within row_distances_within_backward
resample resample_backward ctc_alignments ctc_alignments_backward mm bmm part_means part_means_backward
polygamma direction image_of_columns extended_pad_backward channel_norm channel_norm_backward class_loss sample_points
sample_points_backward convolution convolution_weight fft_c2c fft_r2c fft_c2r linalg_inv linalg_det slogdet adjugate singular_values
cholesky_lower linalg_lu_factor_ex linalg_qr hermitian_values solve_matrix solve_info solve_triangular_matrix solve_factored
cholesky_info lu_solve_matrix product_of_reflections reflected linalg_ldl_factor_ex exp special_i0e special_i1e special_erfcx
special_ndtri""".split()
ROUNDED += [f"special_{name}" for name in POLYNOMIALS if "chebyshev" in name]  # (sines and cosines of the C library)
UNARY = ("special_i0e", "special_i1e", "special_erfcx", "special_ndtri")  # of whose kernels two tensors are a call


COMPLEX = ("add", "sub", "mul", "div", "exp", "neg", "pow", "mm", "bmm")


def asked(name, args, found):
    """The results that the call asks for."""
    wanted = {"unique_dim": (True, *args[2:]), "unique_runs": (True, *args[1:])}.get(name)
    return found if wanted is None else tuple(x for x, yes in zip(found, wanted) if yes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_it_is_the_kernel(name, dtype, monkeypatch):
    op = registry[name]
    native = op.native_fn
    for args in CALLS[name](name, dtype):
        if "dynamic" in op.tags:
            found = native(*args)
            if found is NotImplemented:
                continue
            with monkeypatch.context() as patch:
                patch.setattr(op, "native_fn", lambda *call: NotImplemented)
                expected = dispatch.run(op, args)
            found, expected = asked(name, args, found), asked(name, args, expected)
        else:
            try:
                found, expected = results(op, args), results(op, args)
            except (RuntimeError, NotImplementedError):
                continue  # the op has no results of this dtype
            if native(found, *args) is NotImplemented:
                continue
            with monkeypatch.context() as patch:
                patch.setattr(op, "native_fn", lambda *call: NotImplemented)
                arrays.run_kernel(op, expected, args)
        for a, b in zip(flat(found), flat(expected)):
            a, b = (t.to(dtypes.float64 if t.dtype.is_floating_point else t.dtype).numpy() for t in (a, b))
            tolerance = {"float32": 3e-5, "float64": 2e-13}.get(dtype, 1e-2) if name in ROUNDED else 0
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"{args}")


@pytest.mark.parametrize("name", KERNELS)
def test_it_has_a_loop(name):
    integers = "tril_indices triu_indices randint_philox bincount floor_divide remainder fmod truncated_quotient gcd".split()
    kinds = [("int64", integers), ("complex64", COMPLEX), ("uint8", ("resample_bytes",)), ("float32", (name,))]
    op, dtype = registry[name], next(kind for kind, names in kinds if name in names)
    outs = lambda args: () if "dynamic" in op.tags else (results(op, args),)
    assert any(op.native_fn(*outs(args), *args) is not NotImplemented for args in CALLS[name](name, dtype))


@pytest.mark.parametrize("name", [*KERNELS, *sorted(SIGNS)])
def test_it_refuses_what_it_does_not_know(name):
    native = registry[name].native_fn
    two = () if name in UNARY else ((tensor(2), tensor(2)),)
    for args in ((), (None,), (tensor(2),), *two, (tensor(2), None, 1.5, "x"), (1, 2, 3, 4, 5, 6, 7, 8)):
        assert native(*args) is NotImplemented


@pytest.mark.parametrize("name", ["scatter", "gather_class", "scatter_reduce"])
def test_an_index_out_of_range_is_the_kernels_to_word(name):
    x, at = tensor(3, 4), from_numpy(np.array([[0, 9]]))
    args = {"scatter": (x, 1, at, 1.0), "gather_class": (x, 1, at), "scatter_reduce": (x, 1, at, x, "sum", True)}[name]
    op = registry[name]
    assert op.native_fn(results(op, args), *args) is NotImplemented
    for _ in range(8):  # replayed too
        with pytest.raises((IndexError, RuntimeError)):
            op(*args[:5], include_self=True) if name == "scatter_reduce" else op(*args)


WITHOUT_VECTORS = """
import sys
from aten import _native
from aten.op import registry
from tests.aten.native.kernel_calls import POLYNOMIALS, CALLS, results
assert _native._use_kernels(0) == "none"
for name in sorted(_native.native_kernels().keys() & CALLS.keys()):
    op = registry[name]
    for dtype in sys.argv[1:]:
        for args in CALLS[name](name, dtype):
            print(name, dtype, flush=True)  # the last one is what the process died of
            try:
                op.native_fn(*(() if "dynamic" in op.tags else (results(op, args),)), *args)
            except (RuntimeError, NotImplementedError):
                pass  # the op has no results of this dtype
"""


def test_a_processor_without_vectors_has_no_loops_and_no_kernel_needs_one():
    command = [sys.executable, "-c", WITHOUT_VECTORS, *DTYPES]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, f"{done.returncode} after {done.stdout[-200:]} {done.stderr[-2000:]}"
