"""as_strided reads the storage that eager has, however a kernel lays out what it computes."""

import pytest

import weft

CASES = {
    "computed": lambda x: (x + 1).as_strided((2, 3), (1, 5), 2) * 2,
    "view": lambda x: (x + 1)[1:].as_strided((2, 3), (2, 3)) * 2,
    "view with a place": lambda x: (x + 1)[1:].t().as_strided((2, 3), (2, 3), 7) * 2,
    "twice": lambda x: (x + 1).as_strided((4, 2), (2, 1), 1).as_strided((2, 2), (3, 1), 2) - 1,
    "permuted": lambda x: (x + 1).t().as_strided((3, 3), (1, 4)) * 2,
    "sum": lambda x: x.sum(0).as_strided((2, 2), (2, 1)) * 2,
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_as_strided(name, dynamic):
    function = CASES[name]
    compiled = weft.compile(function, fullgraph=True, dynamic=dynamic)
    for x in (weft.randn(4, 6), weft.randn(6, 4).t()):
        weft.testing.assert_close(compiled(x), function(x))


def test_channels_last():
    function = lambda x: (x + 1).as_strided((2, 3, 2, 5, 3), (150, 1, 75, 3, 15), 0) + 2
    x = weft.randn(2, 3, 5, 10).to(memory_format=weft.channels_last)
    weft.testing.assert_close(weft.compile(function, fullgraph=True)(x), function(x))


def test_a_step_gets_the_strides_that_guards_leave():
    """Eager adds the columns of another layout in another order, and so does exact mode."""

    def f(x, bias):
        return weft.nn.functional.linear(x, x.reshape(-1, 31)[:3], bias.reshape(-1, 31)[0, :3])

    compiled = weft.compile(f, fullgraph=True, dynamic=True, options={"exact": True})
    weft.manual_seed(0)
    for _ in range(4):
        x, bias = weft.randn(1, 31, 31, dtype=weft.float64), weft.randn(1, 31, 31, dtype=weft.float64).requires_grad_()
        g = weft.randn(3, 31, 1, dtype=weft.float64).permute(2, 1, 0)
        found, expected = (weft.autograd.grad(call(x, bias), bias, g)[0] for call in (compiled, f))
        assert weft.equal(found, expected)
