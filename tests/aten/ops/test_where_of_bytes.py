"""A condition of bytes, as masks of old were."""

from __future__ import annotations

import pytest

import weft


@pytest.mark.parametrize("compiled", [False, True])
def test_a_condition_of_bytes_is_a_mask(compiled):
    def choice(mask, x):
        return weft.where(mask, x, 0.0), weft.where(mask)[0]

    mask, x = weft.tensor([2, 0, 1], dtype=weft.uint8), weft.tensor([3.0, 4.0, 5.0])
    with pytest.warns(UserWarning, match="uint8 condition"):
        chosen, places = (weft.compile(choice) if compiled else choice)(mask, x)
    assert chosen.tolist() == [3, 0, 5] and places.tolist() == [0, 2]
    with pytest.raises(RuntimeError, match="expected condition to be a boolean tensor"):
        weft.where(mask.long(), x, 0.0)
