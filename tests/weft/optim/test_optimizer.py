"""What all optimizers share: groups, hooks, closures, state dicts, users' own, complex and differentiable steps, capture."""

import copy
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import weft
from tests.weft.optim.cases import MATRICES, OPTIMIZERS, layouts
from weft import nn, optim

STEPPED = [name for name in OPTIMIZERS if name != "LBFGS"]


def parameters(count=3, seed=0):
    rng = np.random.default_rng(seed)
    return [nn.Parameter(weft.from_numpy(rng.standard_normal((2, 3)).astype(np.float32))) for _ in range(count)]


def give_gradients(params, step):
    rng = np.random.default_rng(100 + step)
    for p in params:
        p.grad = weft.from_numpy(rng.standard_normal(p.shape).astype(np.float32))


def walk(optimizer, params, steps, first=0):
    for step in range(first, first + steps):
        give_gradients(params, step)
        optimizer.step()
    return [p.detach().numpy().copy() for p in params]


def equal(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def test_state_dicts_have_pytorchs_names():
    expected = json.loads((Path(__file__).parent / "recorded" / "layouts.json").read_text())
    got = json.loads(json.dumps(layouts(weft)))
    for case in expected:
        if case.startswith("LBFGS"):  # in whatever order
            expected[case][1].sort(), got[case][1].sort()
    assert got == expected


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("how", ["state_dict", "pickle", "deepcopy"])
def test_training_goes_on_where_it_was(name, how):
    params = parameters()
    optimizer = getattr(optim, name)(params)
    if name == "LBFGS":
        walk_ = lambda o, ps, n, k=0: [o.step(lambda: _bowl(o, ps)) for _ in range(n)] and [p.detach().numpy() for p in ps]  # noqa: E731
    else:
        walk_ = walk
    walk_(optimizer, params, 3)
    if how == "state_dict":
        others = [nn.Parameter(p.detach().clone()) for p in params]
        resumed = getattr(optim, name)(others, lr=0.5)
        resumed.load_state_dict(optimizer.state_dict())
    else:
        resumed = pickle.loads(pickle.dumps(optimizer)) if how == "pickle" else copy.deepcopy(optimizer)
        others = resumed.param_groups[0]["params"]
    equal(walk_(optimizer, params, 3, 3), walk_(resumed, others, 3, 3))


def _bowl(optimizer, params):
    optimizer.zero_grad()
    loss = sum((p**4).sum() for p in params)
    loss.backward()
    return loss


@pytest.mark.parametrize("name", STEPPED)
def test_a_compiled_step_is_the_eager_one(name):
    ours, theirs = parameters(), parameters()
    a, b = getattr(optim, name)(ours, **OPTIMIZERS[name][-1]), getattr(optim, name)(theirs, **OPTIMIZERS[name][-1])
    step = weft.compile(lambda: a.step(), fullgraph=True)
    equal(walk(a, ours, 1), walk(b, theirs, 1))  # the state is there
    for i in range(3):
        give_gradients(ours, i), give_gradients(theirs, i)
        a.param_groups[0]["lr"] = b.param_groups[0]["lr"] = 0.1 / (i + 1)
        step(), b.step()
        for x, y in zip(ours, theirs):
            np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-5, atol=2e-3 if name in MATRICES else 1e-6)


def test_groups_have_their_own_settings_and_names():
    a, b, c = parameters()
    optimizer = optim.SGD([{"params": [("a", a)]}, {"params": [("b", b)], "lr": 0.5}], lr=0.1)
    assert [g["param_names"] for g in optimizer.param_groups] == [["a"], ["b"]]
    optimizer.add_param_group({"params": [("c", c)], "momentum": 0.9})
    before = [p.detach().numpy().copy() for p in (a, b, c)]
    for p in (a, b, c):
        p.grad = weft.ones_like(p)
    optimizer.step()
    for p, old, lr in zip((a, b, c), before, (0.1, 0.5, 0.1)):
        np.testing.assert_allclose(p.detach().numpy(), old - np.float32(lr), rtol=1e-6)
    assert [p is c for p in optimizer.state] == [True]
    named = optim.SGD(nn.Linear(2, 2).named_parameters(), lr=0.1)
    assert named.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="with/without names. Some param names are missing"):
        optim.SGD([("a", a), b], lr=0.1)
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": parameters(1)})
    with pytest.raises(TypeError, match="organized in ordered collections"):
        optim.SGD([{"params": {a, b}}], lr=0.1)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.SGD([a * 2], lr=0.1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([a, a], lr=0.1)


def test_repr_lists_the_settings():
    text = repr(optim.SGD(parameters(), lr=0.1))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n") and "    lr: 0.1\n" in text and text.endswith("\n)")


def test_hooks_run_in_order_and_may_change_the_call():
    seen, params = [], parameters(1)
    optimizer = optim.SGD(params, lr=0.1)
    first = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("pre", len(args))))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("post"))
    everywhere = optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("global"))
    try:
        give_gradients(params, 0)
        optimizer.step()
        first.remove()
        optimizer.step()
    finally:
        everywhere.remove()
    assert seen == ["global", ("pre", 1), "post", "global", "post"]
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_hooks_of_state_dicts():
    params = parameters(1)
    optimizer = optim.SGD(params, lr=0.1)
    seen = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre"))
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, d: seen.append(d.pop("more")))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["first", "pre", 1, "loaded"]


class Halving(optim.Optimizer):
    """An optimizer as users write them."""

    def __init__(self, params, factor=optim.optimizer.required):
        super().__init__(params, {"factor": factor})

    @weft.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with weft.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"] = state.get("step", 0) + 1
                p.mul_(group["factor"])
        return loss


def test_an_optimizer_of_the_user():
    params, seen = parameters(1), []
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter factor"):
        Halving(params)
    optimizer = Halving([{"params": params, "factor": 0.5}])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(1))
    before = params[0].detach().numpy().copy()
    assert optimizer.step(lambda: 3) == 3
    weft.compile(optimizer.step)()
    np.testing.assert_allclose(params[0].detach().numpy(), before / 4)
    assert seen == [1, 1] and optimizer.state_dict()["state"] == {0: {"step": 2}}
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.state[params[0]]["step"] == 2.0


def test_zero_grad():
    p = parameters(1)[0]
    optimizer = optim.SGD([p], lr=0.1)
    p.grad = weft.ones_like(p)
    kept = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is kept and not kept.any()
    optimizer.zero_grad()
    assert p.grad is None


def test_the_rate_may_be_a_tensor_and_is_then_changed_in_place():
    params, others = parameters(), parameters()
    lr = weft.tensor(0.1)
    optimizer = optim.Adam(params, lr=lr)
    plain = optim.Adam(others, lr=0.1)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    equal_to = optim.lr_scheduler.StepLR(plain, 1, 0.5)
    for i in range(3):
        walk(optimizer, params, 1, i), walk(plain, others, 1, i)
        schedule.step(), equal_to.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == pytest.approx(0.0125)
    for a, b in zip(params, others):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5)
    with pytest.raises(ValueError, match="capturable=False and foreach=True"):
        optim.Adam(params, lr=lr, foreach=True)
    with pytest.raises(ValueError, match="1-element"):
        optim.SGD(params, lr=weft.ones(2))


@pytest.mark.parametrize("name", [n for n in STEPPED if n not in ("Muon", "Adafactor")])
def test_a_differentiable_step_has_a_gradient(name):
    """d(final parameter) / d(start), by autograd and by differences."""

    def final(start):
        p = start.clone()
        optimizer = getattr(optim, name)([p], differentiable=True, lr=0.1)
        for i in range(3):
            p.grad = (p * (i + 1.5)).detach() if name == "Rprop" else p * (i + 1.5)
            optimizer.step()
        return p

    start = weft.tensor([0.5, -1.25], dtype=weft.float64, requires_grad=True)
    final(start).sum().backward()
    step = 1e-6
    up, down = (final((start.detach() + s).requires_grad_()).sum().item() for s in (step, -step))
    assert start.grad.sum().item() == pytest.approx((up - down) / (2 * step), rel=1e-4)


def test_flags_are_checked():
    params = parameters()
    give_gradients(params, 0)
    with pytest.raises(AssertionError, match="If capturable=True"):
        optim.Adam(params, capturable=True).step()
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.SGD(params, lr=0.1, fused=True, differentiable=True)
    with pytest.raises(RuntimeError, match="cannot be `True` together"):
        optim.Adam(params, fused=True, foreach=True)
    z = nn.Parameter(weft.ones(1, dtype=weft.complex64))
    z.grad = weft.ones_like(z)
    with pytest.raises(RuntimeError, match="requires all the params to be floating point"):
        optim.Adam([z], fused=True).step()
    with pytest.raises(ValueError, match="only supports 2D parameters"):
        optim.Muon([nn.Parameter(weft.ones(3))])
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": params[:1]}, {"params": params[1:]}])
    with pytest.raises(RuntimeError, match="dense gradients"):
        optim.SparseAdam(params).step()


def test_an_older_state_dict_gets_what_it_lacks():
    params = parameters()
    optimizer = optim.Adam(params)
    walk(optimizer, params, 1)
    saved = optimizer.state_dict()
    saved["state"] = {k: {**v, "step": int(v["step"])} for k, v in saved["state"].items()}
    for name in ("maximize", "foreach", "capturable", "differentiable", "fused"):
        del saved["param_groups"][0][name]
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["maximize"] is False and optimizer.state[params[0]]["step"].dtype is weft.float32
    walk(optimizer, params, 1)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    saved["param_groups"][0]["params"] = [0]
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict(saved)


def test_a_schedule_warns_where_it_steps_first_and_where_step_was_replaced():
    optimizer = optim.SGD(parameters(), lr=0.1)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    optimizer = optim.SGD(parameters(), lr=0.1)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        schedule.step()
    optimizer = optim.SGD(parameters(), lr=0.1)
    schedule = optim.lr_scheduler.StepLR(optimizer, 1)
    weft.compile(optimizer.step)()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(5)
    assert schedule.get_last_lr() == [pytest.approx(0.1 * 0.1**5)] and schedule.last_epoch == 5


def test_resuming_a_schedule_needs_the_first_rate():
    optimizer = optim.SGD(parameters(), lr=0.1)
    with pytest.raises(KeyError, match="initial_lr"):
        optim.lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=3)
    optimizer.param_groups[0]["initial_lr"] = 0.8
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=2)
    assert schedule.last_epoch == 3 and schedule.get_last_lr() == [0.1]
    with pytest.raises(TypeError, match="is not an Optimizer"):
        optim.lr_scheduler.ExponentialLR(None, 0.5)


def test_averaged_models():
    model = nn.Linear(2, 1)
    mean, ema = (
        optim.swa_utils.AveragedModel(model),
        optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.75)),
    )
    values = []
    for i in range(3):
        with weft.no_grad():
            model.weight.fill_(float(i + 1))
        mean.update_parameters(model), ema.update_parameters(model)
        values.append(float(i + 1))
    np.testing.assert_allclose(mean.module.weight.detach().numpy(), [[2.0, 2.0]], rtol=1e-6)
    expected = (1.0 * 0.75 + 2.0 * 0.25) * 0.75 + 3.0 * 0.25
    np.testing.assert_allclose(ema.module.weight.detach().numpy(), [[expected] * 2], rtol=1e-6)
    assert int(mean.n_averaged) == 3 and set(mean.state_dict()) == {"n_averaged", "module.weight", "module.bias"}
    assert mean(weft.ones(1, 2)).shape == (1, 1)
    with pytest.raises(ValueError, match="Invalid decay"):
        optim.swa_utils.get_ema_avg_fn(1.5)


def test_update_bn_takes_the_mean_of_all_batches():
    model = nn.Sequential(nn.BatchNorm1d(2))
    model.eval()
    batches = [weft.tensor([[0.0, 1.0], [2.0, 3.0]]), weft.tensor([[4.0, 5.0], [6.0, 9.0]])]
    optim.swa_utils.update_bn([(b, None) for b in batches], model)
    np.testing.assert_allclose(model[0].running_mean.numpy(), [3.0, 4.5])
    assert model[0].momentum == 0.1 and not model.training


def test_what_a_schedule_saves_in_another_form_comes_last():
    optimizer = optim.SGD(parameters(), lr=0.1, momentum=0.9)
    schedules = optim.lr_scheduler
    assert list(schedules.LambdaLR(optimizer, lambda epoch: 1).state_dict()) == [
        "base_lrs", "last_epoch", "_step_count", "_is_initial", "_get_lr_called_within_step", "_last_lr", "lr_lambdas",
    ]  # fmt: skip
    assert list(schedules.ChainedScheduler([schedules.StepLR(optimizer, 1)]).state_dict()) == ["_last_lr", "_schedulers"]
    assert list(schedules.CyclicLR(optimizer, 0.1, 0.2).state_dict())[-1] == "_scale_fn_custom"


@pytest.mark.parametrize("owner", ["optimizer", "module"])
def test_what_is_compiled_for_a_first_step_serves_the_later_ones(owner):
    """zero_grad() asks nobody whether there are gradients."""
    module = nn.Linear(3, 2)
    optimizer = weft.optim.SGD(module.parameters(), lr=0.1)
    graphs = []

    def counting(gm, inputs):
        graphs.append(gm)
        return gm.forward

    @weft.compile(backend=counting)
    def loss_of(x):
        {"optimizer": optimizer, "module": module}[owner].zero_grad()
        return module(x).square().mean()

    for _ in range(3):
        loss_of(weft.ones(4, 3)).backward()
        optimizer.step()
    assert len(graphs) == 1


def test_lbfgs_keeps_the_weights_of_its_last_direction():
    x = nn.Parameter(weft.tensor([3.0, -2.0]))
    optimizer = optim.LBFGS([x], max_iter=4, history_size=5)

    def closure():
        optimizer.zero_grad()
        loss = (x**4).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    state = optimizer.state_dict()["state"][0]
    assert len(state["al"]) == 5 and sum(a is not None for a in state["al"]) == len(state["old_dirs"])
