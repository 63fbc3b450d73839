"""Floats of eight bits are for keeping: what PyTorch's CPU kernels do not compute with them is refused, with their names."""

import pytest

import weft

F8 = [weft.float8_e4m3fn, weft.float8_e5m2]
X = [1.0, 2.0, 3.0, 4.0]


def values(dtype):
    return weft.tensor(X).to(dtype)


@pytest.mark.parametrize("dtype", F8)
def test_refused(dtype):
    x, name = values(dtype), "Float8_" + dtype.name.removeprefix("float8_")
    for kernel, call in {
        "add_stub": lambda: x + 1,
        "neg_cpu": lambda: -x,
        "div_cpu": lambda: x / x,
        "sum_cpu": lambda: x.mean(),
        "max_values_cpu": lambda: x.amax(),
        "lt_cpu": lambda: x < x,
        "softmax_lastdim_kernel_impl": lambda: x.softmax(0),
        "floor_vml_cpu": lambda: x.floor(),
        "flip_cpu": lambda: x.flip(0),
        "maximum_cpu": lambda: weft.maximum(x, x),
    }.items():
        with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for '{name}'"):
            call()
    m = x.reshape(2, 2)
    for call in (x.sort, x.cumsum, x.gather, x.exp, x.sqrt, x.tanh, x.prod, x.nonzero, x.topk, m.tril, m.trace, x.unique, x.round_):
        given = {x.cumsum: (0,), x.gather: (0, weft.tensor([1])), x.topk: (2,)}.get(call, ())
        with pytest.raises(NotImplementedError):
            call(*given)
    for call in (x.var, x.std, m.inverse, lambda: x + weft.ones(4)):
        with pytest.raises(RuntimeError):
            call()


@pytest.mark.parametrize("dtype", F8)
def test_kept(dtype):
    x = values(dtype)
    read = lambda t: t.float().tolist()
    narrow = dtype is F8[1]
    assert read(x * x) == [1, 4, 8 if narrow else 9, 16] and read(x.abs()) == X and (x == x).all() and not (x != x).any()
    assert read(weft.cat([x, x])) == X * 2 and read(x[1:]) == X[1:] and read(x.index_select(0, weft.tensor([3, 0]))) == [4, 1]
    assert read(weft.where(weft.tensor([True, False, True, False]), x, x)) == X and read(x.repeat(2)) == X * 2
    assert x.isnan().tolist() == [False] * 4 and x.tolist() == X and read(x.clone().fill_(2)) == [2] * 4
    m = x.reshape(2, 2)
    assert read(m @ m) == [[7, 10], [16, 24] if narrow else [15, 22]]
    assert read(weft.ones(2, dtype=dtype)) == [1, 1]


def test_a_product_and_its_bias_are_rounded_once():
    a, b = (weft.arange(12.0).reshape(3, 4).div(n).to(weft.float8_e4m3fn) for n in (7, 5))
    bias = weft.tensor([0.1, 0.2, 0.3]).to(weft.float8_e4m3fn)
    want = [[0.5, 1.25, 2], [1.25, 3.75, 6.5], [1.875, 6.5, 11]]  # PyTorch 2.13
    assert weft.nn.functional.linear(a, b, bias).float().tolist() == want
    assert weft.addmm(bias, a, b.t()).float().tolist() == want
    half = weft.addmm(bias, a, b.t(), beta=2, alpha=0.5).float().tolist()
    assert half == [[0.40625, 0.9375, 1.5], [0.75, 2.25, 3.75], [1.125, 3.5, 6]]
