"""What Triton makes of kernels, for devices that are not there: nothing spills, accesses are wide, halves go to tensor cores."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton compiles the kernels")

from benchmarks import triton_quality
from benchmarks.quality_graphs import graphs

NAMES = {
    "mm [4096, 1024] [1024, 4096] float32": 100,
    "mm of a transposed [4096, 1024] [4096, 1024] float32": 80,
    "attention backward [8, 12, 1024, 64] float32": 80,
    "mm [4096, 1024] [1024, 4096] bfloat16": 90,
}


@pytest.fixture(scope="module")
def found():
    """By name the qualities of a graph's functions."""
    chosen = {name: rest for name, *rest in graphs(list(NAMES)) if name in NAMES}
    return {
        name: [triton_quality.quality(f, NAMES[name]) for f in triton_quality.functions_of(*rest)] for name, rest in chosen.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_nothing_spills_and_accesses_are_wide(found, name):
    for q in found[name]:
        assert q.spilled == 0
        assert q.loads.startswith("16: ") and q.stores.startswith("16: ")


def test_halves_are_multiplied_by_tensor_cores(found):
    (q,) = found["mm [4096, 1024] [1024, 4096] bfloat16"]
    assert "wgmma.mma_async" in q.tensor_cores
