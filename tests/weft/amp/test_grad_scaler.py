"""GradScaler: scale, unscale, infinities, growth, state."""

import pickle

import pytest

import weft
from weft import nn
from weft.amp import GradScaler


def made(**kwargs):
    p = nn.Parameter(weft.tensor([1.0, 2.0]))
    return p, weft.optim.SGD([p], lr=0.5), GradScaler("cpu", init_scale=8.0, **kwargs)


def test_a_step_is_on_unscaled_gradients():
    p, optimizer, scaler = made()
    scaled = scaler.scale((p * 3).sum())
    assert scaled.item() == 72.0
    scaled.backward()
    assert p.grad.tolist() == [24.0, 24.0]
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [3.0, 3.0]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [-0.5, 0.5] and scaler.get_scale() == 8.0


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_a_step_with_infinities_is_left_out_and_the_scale_shrinks(bad):
    p, optimizer, scaler = made()
    scaler.scale((p * weft.tensor([1.0, bad])).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert p.tolist() == [1.0, 2.0] and scaler.get_scale() == 4.0


def test_the_scale_grows():
    p, optimizer, scaler = made(growth_interval=2)
    for expected in (8.0, 16.0, 16.0, 32.0):
        scaler.scale(p.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == expected
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0


def test_containers_are_scaled():
    p, _, scaler = made()
    a, (b,) = scaler.scale([p.sum(), (p,)])
    assert a.item() == 24.0 and b.tolist() == [8.0, 16.0]
    with pytest.raises(ValueError, match="iterable of Tensors"):
        scaler.scale(3)


def test_calls_in_the_wrong_order():
    p, optimizer, scaler = made()
    with pytest.raises(AssertionError, match="_scale is None"):
        scaler.step(optimizer)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior"):
        scaler.update()
    with pytest.raises(RuntimeError, match="Closure use"):
        scaler.step(optimizer, closure=lambda: 0)
    half = nn.Parameter(weft.ones(1, dtype=weft.float16))
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(weft.optim.SGD([half], lr=1.0))
    with pytest.raises(AssertionError, match="growth factor"):
        GradScaler("cpu", growth_factor=1.0)


def test_state():
    p, optimizer, scaler = made(growth_interval=3)
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert state == {
        "scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 3, "_growth_tracker": 1
    }  # fmt: skip
    other = GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state == pickle.loads(pickle.dumps(scaler)).state_dict()
    off = GradScaler("cpu", enabled=False)
    assert off.state_dict() == {} and off.scale(p) is p and off.get_scale() == 1.0
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        other.load_state_dict({})
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not GradScaler().is_enabled()


def test_what_other_scalers_call():
    gradients, found = [weft.tensor([2.0, 4.0]), weft.tensor([float("nan")])], weft.zeros(1)
    weft._amp_foreach_non_finite_check_and_unscale_(gradients[:1], found, weft.tensor([0.5]))
    assert (gradients[0].tolist(), found.tolist()) == ([1.0, 2.0], [0.0])
    weft._amp_foreach_non_finite_check_and_unscale_(gradients, found, weft.tensor([1.0]))
    assert found.tolist() == [1.0]
    scale, steps = weft.tensor([8.0]), weft.tensor([1], dtype=weft.int32)
    assert weft._amp_update_scale_(scale, steps, found, 2.0, 0.5, 2) is scale
    assert (scale.tolist(), steps.tolist()) == ([4.0], [0])
    for expected in ((4.0, 1), (8.0, 0)):
        weft._amp_update_scale_(scale, steps, weft.zeros(1), 2.0, 0.5, 2)
        assert (scale.item(), steps.item()) == expected
    with pytest.raises(RuntimeError, match="growth_tracker must be an int tensor"):
        weft._amp_update_scale_(scale, weft.zeros(1), found, 2.0, 0.5, 2)
