"""Where an op makes integers or truth of halves, or jumps, it takes them as eager has them: rounded, infinite on overflow."""

import pytest

import weft

DECIDES = {
    "int": lambda x: (x * 2).int(),
    "uint8": lambda x: (x * 2).to(weft.uint8),
    "isinf": lambda x: (x * 2).isinf(),
    "isfinite": lambda x: (x * 2).isfinite().all(),
    "gt": lambda x: (x * 2) > 65504,
    "eq": lambda x: (x * 2) == (x * 2 + 1),
    "argmax": lambda x: (x * 2)[:4].argmax(),
    "max": lambda x: (x * 2)[:4].max(0),
    "floor": lambda x: (x * 0.001).floor(),
    "round": lambda x: (x * 0.33).round(),
    "remainder": lambda x: (x * 0.3) % 0.25,
}


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16], ids=str)
@pytest.mark.parametrize("name", DECIDES)
def test_halves(name, dtype):
    f = DECIDES[name]
    x = weft.tensor([60000.0, -60000.0, 1.0, 33000.0, float("inf"), float("nan"), 0.3, 1e-7, 2049.0, 4097.0]).to(dtype)
    assert repr(weft.compile(f)(x)) == repr(f(x))


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16])
def test_each_op_on_the_way_to_a_jump_rounds(dtype):
    def f(x):
        return (((x + 1) * 10 - 1) / 2).round(), ((x * 7 - 3) * 1.5).floor().to(weft.int64), (x * x.sigmoid() * 9).to(weft.int64)

    x = weft.linspace(-1, 1, 4096).to(dtype)
    for got, expected in zip(weft.compile(f, fullgraph=True)(x), f(x)):
        assert weft.equal(got, expected)


def test_the_nearest_pixel_is_eagers():
    image, grid = weft.randn(2, 3, 5, 5).bfloat16(), (weft.rand(2, 40, 40, 2) * 2 - 1).bfloat16()
    f = lambda image, grid: weft.nn.functional.grid_sample(image, grid, mode="nearest", align_corners=False)
    assert weft.equal(weft.compile(f, fullgraph=True)(image, grid), f(image, grid))


OF_STORED = {  # what a loop has stored is compared in one that is fused with it
    "amax": lambda q: (q * 0.3).amax(-1),
    "amin": lambda q: (q * 0.3).amin(-1),
    "max of all": lambda q: (q * 0.3).max(),
    "norm": lambda q: (q * 0.3).norm(float("inf"), -1),
    "aminmax": lambda q: weft.aminmax(q * 0.3, dim=-1).max,
    "where": lambda q: weft.where(q * 1.7 >= (q * 1.7).amax(-1, keepdim=True), q, 0),
    "quotients": lambda q: (q / (q * 1.7).amax(-1, keepdim=True) * 9).round() * q,
    "softmax": lambda q: ((q * 0.3) - (q * 0.3).amax(-1, keepdim=True)).exp(),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16], ids=str)
@pytest.mark.parametrize("name", OF_STORED)
def test_what_was_stored_is_compared_as_it_was_rounded(name, dtype, dynamic):
    weft.compiler.reset()
    f = OF_STORED[name]
    compiled = weft.compile(f, dynamic=dynamic)
    weft.manual_seed(0)
    x = weft.randn(7, 33).to(dtype)
    found = []
    for g in (f, compiled):
        q = x.clone().requires_grad_()
        y = g(q)
        y.sum().backward()
        found.append((y.detach().float(), q.grad.float()))
    for got, expected in zip(found[1], found[0]):
        weft.testing.assert_close(got, expected, rtol=0.02, atol=0.02)
