"""Copies and frames of short rows: every length around the widths of registers, every item, beside NumPy."""

import numpy as np
import pytest

import weft
import weft.nn.functional as F

LENGTHS = (*range(1, 40), 63, 64, 65, 127, 129, 255, 511, 512, 513, 2047, 2048, 2049)


def grid(dtype: str, *sizes: int) -> np.ndarray:
    return np.arange(np.prod(sizes), dtype=np.int64).reshape(sizes).astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("height", [1, 3, 70])
def test_copies_of_windows(dtype, height):
    for n in LENGTHS:
        a = grid(dtype, 2, height + 2, n + 3)
        t = weft.from_numpy(a)
        assert np.array_equal(t[:, 1:-1, 2:-1].clone().numpy(), a[:, 1:-1, 2:-1])
        to, kept = weft.zeros(2, height, n + 5, dtype=t.dtype), np.zeros((2, height, n + 5), dtype)
        to[..., 3:-2], kept[..., 3:-2] = t[:, :-2, :-3], a[:, :-2, :-3]
        assert np.array_equal(to.numpy(), kept)
        backwards = t.flip(0)[:, :height, 1 : n + 1].contiguous()
        assert np.array_equal(backwards.numpy(), a[::-1, :height, 1 : n + 1])


@pytest.mark.parametrize("shift", [(0, 1), (1, 3), (0, 0)])
def test_copies_into_memory_that_is_read(shift):
    down, along = shift
    for n in (3, 8, 17, 33, 130):
        a = grid("float32", 40, n + 4)
        t = weft.from_numpy(a.copy())
        source, to = t[: 40 - down, : n + 4 - along], t[down:, along:]
        to.copy_(source)
        expected = a.copy()
        expected[down:, along:] = a[: 40 - down, : n + 4 - along]
        assert np.array_equal(t.numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    "pad", [(1, 1, 1, 1), (0, 3, 2, 0), (-1, -1, -1, -1), (-1, 2, 0, -2), (2, -1), (0, 0, -4, 5), (0, 1, 0, 1, 1, 1)]
)
def test_frames(dtype, pad):
    kind = getattr(weft, dtype)
    for n in (1, 2, 5, 16, 31, 64, 511, 513, 1030):
        a = grid("float64", 2, 3, 5, n) % 251
        before = [(0, 0)] * (4 - len(pad) // 2) + [(pad[2 * k], pad[2 * k + 1]) for k in range(len(pad) // 2 - 1, -1, -1)]
        if any(size + sum(b) < 0 for size, b in zip(a.shape, before)):
            continue
        cut = a[tuple(slice(max(0, -lo), size - max(0, -hi)) for size, (lo, hi) in zip(a.shape, before))]
        expected = np.pad(cut, [(max(0, lo), max(0, hi)) for lo, hi in before], constant_values=7) if cut.size else None
        found = F.pad(weft.from_numpy(a).to(kind), pad, value=7)
        if expected is None:
            assert found.shape == tuple(size + sum(b) for size, b in zip(a.shape, before)) and bool((found == 7).all())
        else:
            assert np.array_equal(found.to(weft.float64).numpy(), expected)
