"""Tensors of more dims than a set of dims holds (PyTorch 2.13: 64): they are made and viewed, but not reduced along some dims."""

import pytest

import weft

MANY = weft.ones([1] * 65)
ALONG = [
    "sum", "prod", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "std", "var", "logsumexp", "nansum",
    "nanmean", "count_nonzero", "flip", "squeeze",
]  # fmt: skip


@pytest.mark.parametrize("name", ALONG)
def test_some_of_many_dims_are_refused(name):
    with pytest.raises(RuntimeError, match="only tensors with up to 64 dims are supported"):
        getattr(MANY, name)((0,) if name in ("flip", "squeeze") else 0)


def test_what_many_dims_allow():
    assert MANY.ndim == 65 and MANY[0].ndim == 64 and MANY.unsqueeze(0).ndim == 66 and MANY.squeeze().ndim == 0
    assert MANY.clone().reshape(-1).tolist() == [1] and MANY.exp().shape == MANY.shape
    assert MANY.permute(*range(64, -1, -1)).ndim == 65 and weft.cumsum(MANY, 0).ndim == 65
    assert weft.rand([1] * 66).item() < 1


def test_writes_into_many_dims():
    x = weft.ones([1] * 65 + [3])
    assert x.copy_(weft.arange(3.0)).reshape(-1).tolist() == [0, 1, 2]
    assert (x.uniform_(5, 6) >= 5).reshape(-1).all() and x._version == 2


def test_repeats_of_many_dims():
    assert MANY.repeat(2, *[1] * 64).shape == (2, *[1] * 64)
    x = weft.arange(6.0).reshape(2, 3)
    for repeats in ((1, 1), (3, 1, 2), (2, 0), (1, 2)):  # also mapped, which the native rule does not take
        mapped = weft.vmap(lambda x: x.repeat(*repeats))(weft.stack([x, x + 1]))  # noqa: B023
        assert weft.equal(mapped[1], (x + 1).repeat(*repeats))
