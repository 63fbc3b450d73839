"""A row of indices that floats compute is stored once, not computed at each point of other dims; positions stay expressions."""

import pytest

import weft
from aten.aot.decompositions import core_decompositions
from aten.transforms.trace import make_fx
from inductor.lowering.graph import lower

F = weft.nn.functional


def stored(function, *args):
    """How many buffers of int64 the lowered graph stores."""
    operations = lower(make_fx(function, core_decompositions())(*args)).operations
    return sum(getattr(o, "dtype", None) == "int64" for o in operations)


def test_indices_by_floats_are_stored():
    x = weft.randn(3, 5, 7)
    assert stored(lambda x: F.interpolate(x, size=11), x) == 1


def test_positions_are_not():
    x = weft.randn(3, 5, 7)
    assert stored(lambda x: x.index_select(2, weft.arange(5) + 1), x) == 0


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("sizes,size", [((3, 5, 7), 11), ((2, 3, 5, 7), [9, 4]), ((1, 2, 3, 4, 5), [5, 3, 9])])
def test_resized_images_and_their_gradients_are_those_of_eager(sizes, size, mode):
    resize = lambda x: F.interpolate(x, size=size, mode=mode)
    compiled = weft.compile(resize)
    x = weft.randn(*sizes, requires_grad=True)
    assert weft.equal(compiled(x), resize(x))
    for g in (weft.ones([]).expand(resize(x).shape), weft.randn(*resize(x).shape)):
        found, expected = (weft.autograd.grad(f(x), x, g)[0] for f in (compiled, resize))
        weft.testing.assert_close(found, expected)
