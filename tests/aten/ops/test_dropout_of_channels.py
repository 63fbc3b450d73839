"""Which dims dropout1d to 3d take for batch and channels, and what they say of other inputs, as PyTorch 2.13 does."""

import warnings

import pytest

import weft
from weft.nn import functional as F


def shared(name, sizes):
    """The dims along which the mask is the same, and the first words of the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        y = getattr(F, name)(weft.ones(*sizes), 0.5)
    assert set(y.unique().tolist()) == {0, 2}
    same = [d for d in range(y.dim()) if sizes[d] > 1 and (y == y.narrow(d, 0, 1)).all()]
    return same, [str(w.message)[:36] for w in told]


@pytest.mark.parametrize(
    ("name", "sizes", "same", "told"),
    [
        ("dropout1d", (6, 7), [1], []),
        ("dropout1d", (6, 7, 5), [2], []),
        ("dropout2d", (6, 7, 8), [2], ["dropout2d: Received a 3D input to dro"]),
        ("dropout2d", (6, 7, 8, 9), [2, 3], []),
        ("dropout2d", (6, 7), [], ["dropout2d: Received a 2-D input to dr"]),
        ("dropout2d", (6, 7, 3, 3, 3), [2, 3, 4], ["dropout2d: Received a 5-D input to dr"]),
        ("dropout3d", (9, 7, 3, 3), [1, 2, 3], []),
        ("dropout3d", (6, 7, 3, 3, 3), [2, 3, 4], []),
        ("dropout3d", (9, 7, 3), [1, 2], ["dropout3d: Received a 3-D input to dr"]),
        ("dropout3d", (9, 7), [1], ["dropout3d: Received a 2-D input to dr"]),
    ],
)
def test_which_dims_are_dropped_together(name, sizes, same, told):
    weft.manual_seed(3)
    assert shared(name, sizes) == (same, [text[:36] for text in told])


def test_refused():
    with pytest.raises(RuntimeError, match=r"dropout1d: Expected 2D or 3D input, but received a 1D input\. Note that"):
        F.dropout1d(weft.ones(3), 0.0)
    with pytest.warns(UserWarning, match="1-D input"), pytest.raises(RuntimeError, match="at least 2 dimensions"):
        F.dropout2d(weft.ones(6), 0.5)
