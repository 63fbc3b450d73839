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
