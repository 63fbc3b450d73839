"""Truth is no place, and `count_nonzero` takes dims one by one."""

import pytest

import weft

X = weft.ones(2, 3)


@pytest.mark.parametrize("name", ["cumsum", "all", "any", "argmax", "diagonal", "unbind", "softmax"])
def test_a_bool_tensor_is_no_dim(name):
    with pytest.raises(TypeError, match="must be .*int.*, not Tensor"):
        getattr(X, name)(weft.tensor(True))
    assert X.cumsum(weft.tensor(1)).tolist() == [[1, 2, 3]] * 2


def test_count_nonzero():
    assert X.count_nonzero(0, 1).item() == X.count_nonzero((0, 1)).item() == X.count_nonzero().item() == 6
    assert X.count_nonzero(0).tolist() == weft.count_nonzero(X, dim=0).tolist() == [2, 2, 2]
