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
