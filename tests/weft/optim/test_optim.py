"""Optimizers against their published update rules in NumPy, and their state."""

import numpy as np
import pytest

import weft
from weft import nn, optim


def steps(make, gradients, start):
    p = nn.Parameter(weft.from_numpy(start.copy()))
    optimizer = make([p])
    for g in gradients:
        p.grad = weft.from_numpy(g.copy())
        optimizer.step()
    return p.detach().numpy(), optimizer


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return rng.standard_normal(7).astype(np.float32), [rng.standard_normal(7).astype(np.float32) for _ in range(5)]


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_follows_the_paper(problem, decoupled, amsgrad):
    start, gradients = problem
    lr, b1, b2, eps, decay = 0.1, 0.8, 0.95, 1e-6, 0.05
    kind = optim.AdamW if decoupled else optim.Adam
    got, _ = steps(lambda ps: kind(ps, lr, (b1, b2), eps, decay, amsgrad), gradients, start)
    p = start.astype(np.float64)
    m = v = top = np.zeros(7)
    for t, g in enumerate(gradients, 1):
        g = g.astype(np.float64)
        if decoupled:
            p = p * (1 - lr * decay)
        else:
            g = g + decay * p
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        top = np.maximum(top, v)
        p = p - lr * (m / (1 - b1**t)) / (np.sqrt((top if amsgrad else v) / (1 - b2**t)) + eps)
    np.testing.assert_allclose(got, p, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "momentum,dampening,nesterov", [(0, 0, False), (0.9, 0, False), (0.9, 0.1, False), (0.9, 0, True)]
)
def test_sgd(problem, momentum, dampening, nesterov):
    start, gradients = problem
    got, _ = steps(lambda ps: optim.SGD(ps, 0.1, momentum, dampening, 0.01, nesterov), gradients, start)
    p, buffer = start.astype(np.float64), None
    for g in gradients:
        d = g + 0.01 * p
        if momentum:
            buffer = d if buffer is None else momentum * buffer + (1 - dampening) * d
            d = d + momentum * buffer if nesterov else buffer
        p = p - 0.1 * d
    np.testing.assert_allclose(got, p, rtol=2e-5, atol=1e-6)


def test_state_dict_continues_where_it_was(problem):
    start, gradients = problem
    whole, _ = steps(lambda ps: optim.AdamW(ps, 0.1), gradients, start)
    half, optimizer = steps(lambda ps: optim.AdamW(ps, 0.1), gradients[:3], start)
    p = nn.Parameter(weft.from_numpy(half.copy()))
    resumed = optim.AdamW([p], 0.5)
    resumed.load_state_dict(optimizer.state_dict())
    assert resumed.param_groups[0]["lr"] == 0.1
    for g in gradients[3:]:
        p.grad = weft.from_numpy(g.copy())
        resumed.step()
    np.testing.assert_array_equal(p.detach().numpy(), whole)


def test_bad_settings_are_named():
    p = nn.Parameter(weft.ones(1))
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.Adam([p], lr=-1)
    with pytest.raises(ValueError, match="Nesterov momentum requires"):
        optim.SGD([p], 0.1, nesterov=True)
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([], 0.1)
    with pytest.raises(TypeError, match="iterable of Tensors"):
        optim.SGD(p, 0.1)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": [p]}, {"params": [p]}], 0.1)


def test_clip_grad_norm():
    a, b = nn.Parameter(weft.zeros(2)), nn.Parameter(weft.zeros(1))
    a.grad, b.grad = weft.tensor([3.0, 0.0]), weft.tensor([4.0])
    total = nn.utils.clip_grad_norm_([a, b], 1.0)
    assert total.item() == pytest.approx(5.0)
    np.testing.assert_allclose(np.concatenate([a.grad.numpy(), b.grad.numpy()]), [0.6, 0, 0.8], rtol=1e-5)
    a.grad = weft.tensor([float("nan"), 0.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([a, b], 1.0, error_if_nonfinite=True)


def test_schedules():
    p = nn.Parameter(weft.ones(1))
    optimizer = optim.SGD([p], lr=1.0)
    schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    rates = []
    for _ in range(5):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.25]
