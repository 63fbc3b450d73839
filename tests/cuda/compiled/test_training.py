"""A model trained on a device: nothing goes through the host once all is compiled."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from aten import _cuda

F = weft.nn.functional


def model(device):
    weft.manual_seed(0)
    return weft.nn.Sequential(weft.nn.Embedding(5, 4), weft.nn.Linear(4, 3), weft.nn.GELU(), weft.nn.Linear(3, 5)).to(device)


def trained(device, steps, mode=None, compiled=True):
    """(losses, what the last two steps asked of the driver)."""
    net = model(device)
    optimizer = weft.optim.AdamW(net.parameters(), lr=0.1)
    tokens = weft.tensor([0, 3, 4], device=device)

    def loss(tokens):
        return F.cross_entropy(net(tokens), tokens)

    if compiled:
        loss, update = weft.compile(loss, mode=mode), weft.compile(optimizer.step, mode=mode)
    else:
        update = optimizer.step
    losses, before = [], {}
    for k in range(steps):
        if k == steps - 2 and device != "cpu":
            weft.cuda.synchronize()
            before = _cuda.counts()
        value = loss(tokens)
        value.backward()
        update()
        optimizer.zero_grad()
        losses.append(value.detach())
    asked = {name: n - before[name] for name, n in _cuda.counts().items()} if before else {}
    return [x.item() for x in losses], asked


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_no_copies_in_the_steady_state(device, mode):
    from aten import settings

    with settings.patch(strict=False):  # (which waits for the checks of every call)
        losses, asked = trained(device, 5, mode)
    np.testing.assert_allclose(losses, trained("cpu", 5, compiled=False)[0], rtol=1e-5)
    assert {name: n for name, n in asked.items() if n and name.startswith("copies")} == {}
    assert (asked["graph_launches"] > 0, asked["launches"] == 0) == (mode is not None, mode is not None)


def test_a_compiled_step_counts_on_the_device(device):
    p = weft.nn.Parameter(weft.ones(3, device=device))
    optimizer = weft.optim.Adam([p], lr=0.1)
    p.grad = weft.ones(3, device=device)
    optimizer.step()
    assert optimizer.state[p]["step"].device.type == "cpu"  # as eager reads it
    weft.compile(optimizer.step)()
    assert optimizer.state[p]["step"].device == device and optimizer.state[p]["step"].item() == 2
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 3
    np.testing.assert_allclose(p.detach().cpu().numpy(), [0.7] * 3, rtol=1e-5)


def test_a_capturable_nadam_keeps_its_products_on_the_device(device):
    p, q = (weft.nn.Parameter(weft.ones(3, device=d)) for d in (device, "cpu"))
    for x in (p, q):
        optimizer = weft.optim.NAdam([x], lr=0.1, capturable=x is p)
        x.grad = weft.ones_like(x)
        optimizer.step()
        assert optimizer.state[x]["mu_product"].device == x.device
    np.testing.assert_allclose(p.detach().cpu().numpy(), q.detach().numpy(), rtol=1e-5)


def test_a_capturable_optimizer_counts_on_the_device(device):
    p = weft.nn.Parameter(weft.ones(3, device=device))
    optimizer = weft.optim.Adam([p], lr=0.1, capturable=True)
    p.grad = weft.ones(3, device=device)
    optimizer.step()
    assert optimizer.state[p]["step"].device == device
