"""Halves in native kernels that have loops of floats alone."""

import numpy as np
import pytest

from aten import arrays
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
