"""Kernels over loops in which the order of the elements counts, and over sizes that may be 0."""

import pytest

import dynamo
import weft
from weft import tensor

VIEWS = {
    "repeated twice": lambda x: weft.repeat_interleave(x.reshape(-1).repeat(2), 2),
    "transposed": lambda x: weft.repeat_interleave(x.t().reshape(-1).repeat(3), 2),
    "expanded": lambda x: x.unsqueeze(1).expand(-1, 3, -1).reshape(-1),
    "permuted": lambda x: x.unsqueeze(0).repeat(2, 1, 1).permute(2, 0, 1).reshape(-1),
}
SCANS = {
    "cumsum": lambda v: v.cumsum(0),
    "cumprod": lambda v: v.cumprod(0),
    "cummax": lambda v: v.cummax(0),
    "argmax": lambda v: v.argmax(),
}


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("view", VIEWS)
def test_scans_go_through_the_elements_in_their_order(view, scan):
    dynamo.reset()  # (all functions here have one code object)
    function = lambda x: SCANS[scan](VIEWS[view](x))
    compiled = weft.compile(function, dynamic=False)
    for sizes in ((2, 4), (4, 1), (5, 17)):
        x = (weft.arange(sizes[0] * sizes[1]) * 7 % 5 - 2).reshape(sizes) / 4 + 0.125
        for a, b in zip(weft.utils._pytree.tree_leaves(compiled(x)), weft.utils._pytree.tree_leaves(function(x))):
            assert weft.allclose(a, b)


def rows(x):
    first = x[:2]  # of at most two elements in what follows
    return first, weft.zeros(3) + weft.repeat_interleave(x, 2).sum()


def broadcast(x):
    doubled = weft.repeat_interleave(x, 2)
    return doubled.unsqueeze(0).expand(2, -1).sum(0), doubled + x


def joined(x):
    return weft.cat([x[:1], weft.arange(5.0)])


@pytest.mark.parametrize("function", [rows, broadcast, joined])
def test_nothing_is_loaded_from_a_tensor_without_elements(function):
    for dynamic in (None, True):
        dynamo.reset()
        compiled = weft.compile(function, dynamic=dynamic)
        for values in ([3.0], [], [2.0]):
            assert repr(compiled(tensor(values))) == repr(function(tensor(values)))
