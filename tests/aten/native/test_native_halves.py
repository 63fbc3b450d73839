"""Halves in native kernels that have loops of floats alone."""

import numpy as np
import pytest

from aten import _native, arrays
from aten import dtype as dtypes
from aten.op import registry
from tests.aten.native.kernel_calls import CALLS, flat, results


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["extended_pad_backward", "channel_norm", "channel_norm_backward"])
def test_halves_run_in_the_native_kernel_of_floats_and_are_rounded_once(name, dtype, monkeypatch):
    op = registry[name]
    monkeypatch.setattr(op, "kernel_fn", None)  # NumPy is not asked
    for args in CALLS[name](name, dtype):
        wide = tuple(a.to(dtypes.float32) if getattr(a, "dtype", None) is getattr(dtypes, dtype) else a for a in args)
        found, expected = results(op, args), results(op, wide)
        arrays.run_kernel(op, found, args)
        arrays.run_kernel(op, expected, wide)
        for a, b in zip(flat(found), flat(expected)):
            np.testing.assert_array_equal(a.to(dtypes.float32).numpy(), b.to(a.dtype).to(dtypes.float32).numpy())


@pytest.mark.parametrize("name", ["channel_norm", "channel_norm_backward", "extended_pad_backward"])
def test_calls_of_halves_are_replayed_natively(name):
    op = registry[name]
    args = next(iter(CALLS[name](name, "bfloat16")))
    for _ in range(40):
        first = op(*args)
    _native.python_entries(True)
    again = op(*args)
    assert _native.python_entries(True) == {}
    for a, b in zip(flat(first), flat(again)):
        np.testing.assert_array_equal(a.to(dtypes.float32).numpy(), b.to(dtypes.float32).numpy())


def test_a_widened_kernel_takes_halves_alone_and_passes_refusals_on():
    kernel = _native.widened(registry["channel_norm"].native_fn)
    args = next(iter(CALLS["channel_norm"]("channel_norm", "float32")))
    assert kernel(results(registry["channel_norm"], args), *args) is NotImplemented
    half = args[0].to(dtypes.bfloat16)
    for call in ((), (half,), (half, half), (None, half, 3)):
        assert kernel(*call) is NotImplemented


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "bool", "complex64"])
def test_columns_of_an_image_are_moved_whatever_they_are(dtype):
    op = registry["columns_of_image"]
    for args in CALLS["columns_of_image"]("columns_of_image", dtype):
        assert op.native_fn(results(op, args), *args) is None
