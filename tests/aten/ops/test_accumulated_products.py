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


NAN = float("nan")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_a_product_times_0_is_not_read(dtype, compiled):
    """But where PyTorch has no BLAS for it: addr, and baddbmm of fewer than 400 products."""
    weft.compiler.reset()
    calls = {
        "addmm": lambda x, o: weft.addmm(o, x, o, alpha=0),
        "addmm, beta": lambda x, o: weft.addmm(o, x, o, beta=2, alpha=0.0),
        "addmm, both": lambda x, o: weft.addmm(o, x, o, beta=0, alpha=0),
        "addmm_": lambda x, o: o.clone().addmm_(x, o, alpha=0),
        "addmv": lambda x, o: weft.addmv(o[0], x, o[0], alpha=0),
        "addbmm": lambda x, o: weft.addbmm(o, x[None], o[None], alpha=0),
        "baddbmm": lambda x, o: weft.baddbmm(o[None], x[None], o[None], alpha=0),
        "addr": lambda x, o: weft.addr(o, x[0], o[0], alpha=0),
    }

    def first(n):
        x, o = weft.full((n, n), NAN, dtype=dtype), weft.ones(n, n, dtype=dtype)
        return {name: str((weft.compile(f) if compiled else f)(x, o).flatten()[0].item()) for name, f in calls.items()}

    left_out = dict.fromkeys(("addmm", "addmm_", "addmv", "addbmm"), "1.0") | {"addmm, beta": "2.0", "addmm, both": "0.0"}
    assert first(2) == left_out | {"baddbmm": "nan", "addr": "nan"}
    assert first(8) == left_out | {"baddbmm": "1.0", "addr": "nan"}


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_a_product_of_halves_times_0_is_read(dtype):
    x, o = weft.full((2, 2), NAN, dtype=dtype), weft.ones(2, 2, dtype=dtype)
    for result in (weft.addmm(o, x, o, alpha=0), weft.addmv(o[0], x, o[0], alpha=0), weft.addbmm(o, x[None], o[None], alpha=0)):
        assert result.isnan().all()


def test_the_matrices_of_a_product_times_0_get_gradients():
    x, a = weft.ones(2, 2, requires_grad=True), weft.full((2, 2), NAN, requires_grad=True)
    b = weft.full((2, 2), 2.0, requires_grad=True)
    weft.addmm(x, a, b, alpha=0).sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]] and a.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert b.grad.isnan().all()


def test_factors_that_change_between_compiled_calls_may_be_0():
    weft.compiler.reset()
    x, o = weft.full((2, 2), NAN), weft.ones(2, 2)
    product = weft.compile(lambda x, o, alpha: weft.addmm(o, x, o, alpha=alpha)[0, 0])
    rest = weft.compile(lambda x, o, beta: weft.addmm(x, o, o, beta=beta)[0, 0])
    factors = (1.0, 2.0, 3.0, 0.0, 4.0)
    assert [str(product(x, o, f).item()) for f in factors] == ["nan", "nan", "nan", "1.0", "nan"]
    assert [str(rest(x, o, f).item()) for f in factors] == ["nan", "nan", "nan", "2.0", "nan"]
