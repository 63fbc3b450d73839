"""The steps of optimizers as functions on lists: PyTorch's numbers after two steps."""

import importlib

import pytest

import weft
from weft.optim._functional import sgd

ZEROS = [0.0, 0.0, 0.0]
# name, state before, settings, parameter after, state after (None: not used)
CASES = [
    (
        "adam",
        [ZEROS, ZEROS, ZEROS, [3.0]],
        {"amsgrad": True, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.01, "eps": 1e-8, "maximize": False},
        [0.86948, -1.86947, 0.36947],
        [[0.02084, -0.06074, 0.38089], [0.00024, 0.00203, 0.07998], [0.00024, 0.00203, 0.07998], [5.0]],
    ),
    (
        "adam",
        [ZEROS, ZEROS, None, [0.0]],
        {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.01, "eps": 1e-8, "maximize": True},
        [1.19997, -2.19999, 0.7],
        [[-0.017, 0.0531, -0.37895], [0.00016, 0.00155, 0.07916], [2.0]],
    ),
    (
        "adamw",
        [ZEROS, ZEROS, None, [0.0]],
        {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8, "maximize": False},
        [0.7811, -1.7612, 0.29105],
        [[0.019, -0.057, 0.38], [0.0002, 0.00179, 0.0796], [2.0]],
    ),
    (
        "sgd",
        ["unset"],
        {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": True, "maximize": False},
        [0.90852, -1.7713, -0.43765],
        [[0.3762, -0.9405, 3.85605]],
    ),
    (
        "adadelta",
        [ZEROS, ZEROS, [0.0]],
        {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.0, "maximize": False},
        [0.9936, -1.99359, 0.49359],
        [[0.0019, 0.0171, 0.76], [0.0, 0.0, 0.0], [2.0]],
    ),
    (
        "adagrad",
        [ZEROS, [0.0]],
        {"lr": 0.1, "weight_decay": 0.0, "lr_decay": 0.1, "eps": 1e-10, "maximize": False},
        [0.83572, -1.83572, 0.33572],
        [[0.02, 0.18, 8.0], [2.0]],
    ),
    (
        "adamax",
        [ZEROS, ZEROS, [0.0]],
        {"eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.0},
        [0.8, -1.8, 0.3],
        [[0.019, -0.057, 0.38], [0.1, 0.3, 2.0], [2.0]],
    ),
    (
        "asgd",
        [ZEROS, [1.0], [0.1], [0.0]],
        {"lambd": 1e-4, "lr": 0.1, "t0": 1.0, "alpha": 0.75, "weight_decay": 0.0},
        [0.97998, -1.93996, 0.09999],
        [[0.97998, -1.93996, 0.09999], [1.0], [0.1], [2.0]],
    ),
    (
        "nadam",
        [ZEROS, ZEROS, [1.0], [0.0]],
        {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.0, "momentum_decay": 4e-3, "eps": 1e-8},
        [0.81599, -1.81599, 0.31599],
        [[0.019, -0.057, 0.38], [0.0002, 0.00179, 0.0796], [0.2026], [2.0]],
    ),
    (
        "radam",
        [ZEROS, ZEROS, [0.0]],
        {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.0, "eps": 1e-8},
        [0.98, -1.94, 0.1],
        [[0.019, -0.057, 0.38], [0.0002, 0.00179, 0.0796], [2.0]],
    ),
    (
        "rmsprop",
        [ZEROS, ZEROS, ZEROS, [0.0]],
        {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.0, "momentum": 0.5, "centered": True},
        [0.24509, -1.24509, -0.25491],
        [[0.0019, 0.0171, 0.76], [0.019, -0.057, 0.38], [4.21573, -4.21573, 4.21573], [2.0]],
    ),
    (
        "rprop",
        [ZEROS, [0.1, 0.1, 0.1], [0.0]],
        {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2},
        [0.78, -1.78, 0.28],
        [[0.1, -0.3, 2.0], [0.12, 0.12, 0.12], [2.0]],
    ),
]


def lists(before):
    """The argument of each part of the state: a list of one tensor, [None] before there is one, [] where it is not used."""
    unused = {"unset": [None], None: []}
    return [unused[x] if not isinstance(x, list) else [weft.tensor(x if len(x) > 1 else x[0])] for x in before]


@pytest.mark.parametrize(
    ("name", "before", "settings", "parameter", "after"), CASES, ids=[f"{c[0]}{i}" for i, c in enumerate(CASES)]
)
def test_two_steps(name, before, settings, parameter, after):
    step = getattr(importlib.import_module(f"weft.optim.{name}"), name)
    params, grads, state = [weft.tensor([1.0, -2.0, 0.5])], [weft.tensor([0.1, -0.3, 2.0])], lists(before)
    for _ in range(2):
        step(params, grads, *state, **settings)
    assert params[0].tolist() == pytest.approx(parameter, abs=1e-5)
    used = [x[0].reshape(-1).tolist() for x in state if x]
    assert len(used) == len(after)
    for have, want in zip(used, after):
        assert have == pytest.approx(want, abs=1e-5)


def test_a_step_with_an_infinite_gradient_found_is_not_taken():
    params = [weft.ones(2)]
    settings = {"weight_decay": 0.0, "momentum": 0.0, "lr": 1.0, "dampening": 0.0, "nesterov": False, "maximize": False}
    scale = weft.tensor(2.0)
    sgd(params, [weft.ones(2)], [None], grad_scale=scale, found_inf=weft.tensor(1.0), **settings)
    assert params[0].tolist() == [1.0, 1.0]
    sgd(params, [weft.ones(2)], [None], grad_scale=scale, found_inf=weft.tensor(0.0), **settings)
    assert params[0].tolist() == [0.5, 0.5]
