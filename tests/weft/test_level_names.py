"""torch._C._functorch: which transform a tensor belongs to."""

import pytest

import weft
from weft._C import _functorch as names


def test_levels_by_their_native_names():
    x, seen = weft.arange(6.0).reshape(2, 3), []

    def look(row):
        seen.append((names.is_batchedtensor(row), names.maybe_get_bdim(row), names.maybe_get_level(row)))
        assert names.get_unwrapped(row) is x

        def slope(y):
            seen.append((names.is_gradtrackingtensor(y), names.is_batchedtensor(y), names.maybe_get_level(y)))
            assert names.is_batchedtensor(names.get_unwrapped(y))
            return y.sum()

        return weft.func.grad(slope)(row)

    weft.vmap(look, in_dims=1)(x)
    assert seen == [(True, 1, 1), (True, False, 2)]
    assert not names.is_functorch_wrapped_tensor(x) and names.maybe_get_level(x) == names.maybe_get_bdim(x) == -1
    with pytest.raises(RuntimeError, match="No wrappers present"):
        names.get_unwrapped(x)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        names.nothing  # noqa: B018
