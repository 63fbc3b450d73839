"""Derivatives that do not exist: results are computed and require grad, and backward says so, as in eager."""

import pytest

import weft

CALLS = {
    "heaviside": (lambda a: weft.heaviside(a, a) + 1, "derivative for aten::heaviside is not implemented"),
    "of one argument": (lambda a: weft.igamma(a, a + 1), "the derivative for 'igamma: input' is not implemented"),
    "a factorization": (lambda a: weft.linalg.ldl_factor(a + weft.eye(2))[0], "derivative for aten::linalg_ldl_factor_ex is not"),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", CALLS)
def test_backward_says_so(name, backend):
    weft.compiler.reset()
    function, message = CALLS[name]
    a = weft.ones(2, 2, requires_grad=True)
    y = weft.compile(function, backend=backend, fullgraph=True)(a)
    assert y.requires_grad and weft.equal(y, function(a))
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        y.sum().backward()
    with weft.no_grad():
        assert weft.equal(weft.compile(function, backend=backend, fullgraph=True)(a), function(a))


def test_what_is_refused_at_the_call_is_so_in_a_graph():
    a = weft.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="\"gcd_cpu\" not implemented for 'Float'"):
        weft.compile(lambda a: weft.gcd(a, a))(a)
