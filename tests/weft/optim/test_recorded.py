"""Every optimizer and every schedule beside what PyTorch 2.13 did, step by step (cases.py, recorded by record.py)."""

from pathlib import Path

import numpy as np
import pytest

import weft
from tests.weft.optim.cases import SCHEDULES, advance, curve, names_of_schedules, optimizer_cases, record

FOLDER = Path(__file__).parent / "recorded"
RUNS = np.load(FOLDER / "optimizers.npz")
CURVES = np.load(FOLDER / "schedules.npz")
CASES = list(optimizer_cases())


@pytest.mark.parametrize("case,name,kwargs,dtype", CASES, ids=[c[0] for c in CASES])
def test_an_optimizer_follows_its_recording(case, name, kwargs, dtype):
    got = record(weft, name, kwargs, dtype)
    assert got.dtype == dtype
    if name == "Muon":  # its products are of bfloat16, and round differently
        np.testing.assert_allclose(got, RUNS[case], rtol=0.02, atol=2e-3)
    elif name == "LBFGS":  # twenty steps to the bottom: each is decided by the digits of the one before
        np.testing.assert_allclose(got, RUNS[case], rtol=1e-3, atol=1e-3)
    else:
        np.testing.assert_allclose(got, RUNS[case], rtol=2e-5, atol=3e-6)


def test_every_recording_has_its_case():
    assert set(RUNS.files) == {case for case, *_ in CASES}
    assert set(CURVES.files) == set(SCHEDULES)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_follows_its_curve(name):
    np.testing.assert_array_equal(curve(weft, SCHEDULES[name]), CURVES[name])


def run(schedule, optimizer, first, last, rates):
    for step in range(first, last):
        rates.append([g["lr"] for g in optimizer.param_groups])
        optimizer.step()
        advance(schedule, step)


def make(name):
    params = [weft.nn.Parameter(weft.ones(1)) for _ in range(2)]
    optimizer = weft.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.05}], lr=0.2, momentum=0.9)
    return optimizer, SCHEDULES[name](names_of_schedules(weft), optimizer)


@pytest.mark.parametrize("order", ["optimizer first", "schedule first", "made after loading", "schedule alone"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_goes_on_in_whatever_order_it_is_loaded(name, order):
    optimizer, schedule = make(name)
    run(schedule, optimizer, 0, 11, [])
    saved = optimizer.state_dict(), schedule.state_dict()
    if order == "made after loading":
        optimizer = weft.optim.SGD(
            [{"params": [weft.nn.Parameter(weft.ones(1))]} for _ in range(2)], lr=0.2, momentum=0.9
        )
        optimizer.load_state_dict(saved[0])
        schedule = SCHEDULES[name](names_of_schedules(weft), optimizer)
        schedule.load_state_dict(saved[1])
    else:
        optimizer, schedule = make(name)
        steps = [lambda: optimizer.load_state_dict(saved[0]), lambda: schedule.load_state_dict(saved[1])]
        steps = steps[::-1] if order == "schedule first" else steps[1:] if order == "schedule alone" else steps
        for load in steps:
            load()
    rates = []
    run(schedule, optimizer, 11, 25, rates)
    np.testing.assert_allclose(rates, CURVES[name][11:25, :2], rtol=1e-12)
