"""Steps of float64 parameters, which float32 numbers of a state and rates are not to coarsen; read off PyTorch 2.13."""

import pytest

import weft
from weft import optim

GRADIENTS = [[1.0, 1, 1], [0.5, 1, -1], [0.1, 0.2, 0.3], [-1, 0.4, 0.2], [1, -1, 0.1], [0.3, 0.2, 0.1], [0.7, 0.7, -0.7]]


def stepped(optimizer, **settings):
    p = weft.nn.Parameter(weft.tensor([1.0, -2, 0.3], dtype=weft.float64))
    steps = optimizer([p], **settings)
    for g in GRADIENTS:
        p.grad = weft.tensor(g, dtype=weft.float64)
        steps.step()
    return p.tolist()


@pytest.mark.parametrize(
    "optimizer,settings,expected",
    [
        (optim.Rprop, {}, [0.37392000000000009, -2.72688, -0.068400000000000016]),
        (optim.ASGD, {}, [0.73994375301915105, -2.2498459610763208, 0.29997977486925931]),
        (optim.ASGD, {"t0": 2, "lambd": 0.01}, [0.7344044963958164, -2.2346753095777316, 0.29798809965663003]),
        (optim.RAdam, {"lr": weft.tensor(0.1)}, [0.73760977688912066, -2.3563984306478511, 0.17499700467035861]),
    ],
)
def test_steps(optimizer, settings, expected):
    assert stepped(optimizer, **{"lr": 0.1, **settings}) == pytest.approx(expected, rel=1e-14)
