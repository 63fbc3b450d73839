"""addmm and its like with factors that leave an argument out. Expected: PyTorch 2.13 on a CPU."""

import math

import pytest

import weft

CALLS = {
    "addmm": ((2, 2), (2, 2), (2, 2)),
    "addmv": ((2,), (2, 2), (2,)),
    "addr": ((2, 2), (2,), (2,)),
    "addbmm": ((2, 2), (3, 2, 2), (3, 2, 2)),
    "baddbmm": ((3, 2, 2), (3, 2, 2), (3, 2, 2)),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_added_zero_times_has_a_gradient_of_zero(name, compiled):
    weft.compiler.reset()
    sizes, a, b = CALLS[name]
    call = lambda c, a, b: getattr(weft, name)(c, a, b, beta=0)
    c, a, b = weft.full(sizes, math.nan, requires_grad=True), weft.ones(a), weft.ones(b)
    y = (weft.compile(call, fullgraph=True) if compiled else call)(c, a, b)
    assert y.requires_grad and not y.isnan().any()
    y.sum().backward()
    assert c.grad.shape == sizes and c.grad.eq(0).all()
