"""Optimizers with their options, and schedules, as (name, class, settings): those whose trajectories are recorded.

`record` and `curve` run one with any module that has PyTorch's names; the recordings were made by running them with
PyTorch 2.13: `python -m tests.weft.optim.record --peer-python PATH`.
"""

from __future__ import annotations

import numpy as np

STEPS = 20
SHAPES = {"w": (3, 2), "b": (2,), "s": ()}

_COMMON = [{}, {"maximize": True}]
_DECAY = [{"weight_decay": 0.1}]

OPTIMIZERS = {
    "SGD": [
        *_COMMON, *_DECAY, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3, "maximize": True},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05}, {"lr": 0.1, "momentum": 0.5, "foreach": True},
    ],
    "Adam": [
        *_COMMON, *_DECAY, {"amsgrad": True}, {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3},
        {"amsgrad": True, "weight_decay": 0.1, "maximize": True}, {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"fused": True}, {"foreach": True},
    ],
    "AdamW": [*_COMMON, {"weight_decay": 0.2}, {"amsgrad": True, "lr": 0.05}, {"foreach": True, "maximize": True}],
    "NAdam": [
        *_COMMON, *_DECAY, {"weight_decay": 0.1, "decoupled_weight_decay": True},
        {"momentum_decay": 0.1, "lr": 0.02, "foreach": True},
    ],
    "RAdam": [
        *_COMMON, *_DECAY, {"weight_decay": 0.1, "decoupled_weight_decay": True}, {"betas": (0.9, 0.8), "lr": 0.01},
        {"foreach": True, "lr": 0.02},
    ],
    "Adamax": [*_COMMON, *_DECAY, {"lr": 0.05, "betas": (0.7, 0.9), "eps": 1e-2}, {"foreach": True}],
    "Adagrad": [*_COMMON, *_DECAY, {"lr_decay": 0.1, "initial_accumulator_value": 0.5, "lr": 0.3}, {"foreach": True}],
    "Adadelta": [*_COMMON, *_DECAY, {"lr": 0.5, "rho": 0.7, "eps": 1e-3}, {"foreach": True}],
    "RMSprop": [
        *_COMMON, *_DECAY, {"momentum": 0.9}, {"centered": True, "eps": 1e-2}, {"centered": True, "momentum": 0.5, "alpha": 0.9},
        {"foreach": True, "momentum": 0.3},
    ],
    "Rprop": [*_COMMON, {"etas": (0.4, 1.5), "step_sizes": (1e-3, 0.05)}, {"foreach": True}],
    "ASGD": [*_COMMON, *_DECAY, {"t0": 3, "lambd": 0.1, "lr": 0.1, "alpha": 0.5}, {"foreach": True, "t0": 5}],
    "Adafactor": [
        *_COMMON, *_DECAY, {"lr": 0.3, "beta2_decay": -0.5, "d": 2.0}, {"eps": (1e-2, 0.1)}, {"foreach": True},
    ],
    "Muon": [{}, {"weight_decay": 0.0, "nesterov": False}, {"adjust_lr_fn": "match_rms_adamw", "momentum": 0.5, "ns_steps": 3}],
    "LBFGS": [
        {}, {"lr": 0.1, "max_iter": 4}, {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 3},
    ],
}
MATRICES = {"Muon"}
REAL = {"Muon", "Adafactor", "LBFGS"}


def optimizer_cases():
    for name, settings in OPTIMIZERS.items():
        for i, kwargs in enumerate(settings):
            yield f"{name}-{i}", name, kwargs, "float32"
        if name not in REAL:
            yield f"{name}-complex", name, dict(settings[1 if name != "Rprop" else 0]), "complex64"


def start(dtype):
    """The parameters before the first step, by name."""
    rng = np.random.default_rng(1)
    values = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    if dtype == "complex64":
        values = {name: v + 1j * rng.standard_normal(v.shape) for name, v in values.items()}
    return {name: np.asarray(v, dtype) for name, v in values.items()}


def record(torch, name, kwargs, dtype):
    """The parameters after each of STEPS steps, flattened: (STEPS, n) of dtype. Gradients are of a bowl, with noise."""
    rng = np.random.default_rng(2)
    params = {n: torch.nn.Parameter(torch.from_numpy(v.copy())) for n, v in start(dtype).items()}
    if name in MATRICES:
        params = {"w": params["w"]}
    noise = {n: [np.asarray(rng.standard_normal(p.shape), dtype) for _ in range(STEPS)] for n, p in params.items()}
    optimizer = getattr(torch.optim, name)(list(params.values()), **kwargs)
    rows = []
    for step in range(STEPS):

        def closure(step=step):
            optimizer.zero_grad()
            loss = sum(bowl(p, torch.from_numpy(noise[n][0 if name == "LBFGS" else step])) for n, p in params.items())
            loss.backward()
            return loss

        optimizer.step(closure)
        rows.append(np.concatenate([p.detach().numpy().reshape(-1).copy() for p in params.values()]))
    return np.stack(rows)


def bowl(p, noise):
    d = p - noise * 0.3
    if p.is_complex():
        return (d * d.conj()).real.sum() + ((d.real * d.real) ** 2).sum() * 0.1
    return (d * d).sum() + (d**4).sum() * 0.1


def _half(epoch):
    return 0.5 + 0.5 / (1 + epoch)


SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, [_half, lambda e: 0.9**e]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, _half),
    "step": lambda s, o: s.StepLR(o, 4, 0.3),
    "multistep": lambda s, o: s.MultiStepLR(o, [3, 8, 8, 20], 0.3),
    "constant": lambda s, o: s.ConstantLR(o, 0.2, 6),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.9, 7),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, 12, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 7, 0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "restarts_even": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, [0.3, 0.5], 4, 3),
    "cyclic_triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.3, 4, mode="triangular2"),
    "cyclic_exp": lambda s, o: s.CyclicLR(o, 0.01, 0.3, 4, mode="exp_range", gamma=0.95),
    "cyclic_fn": lambda s, o: s.CyclicLR(o, 0.01, 0.3, 4, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    "one_cycle": lambda s, o: s.OneCycleLR(o, [0.3, 0.6], 30),
    "one_cycle_three": lambda s, o: s.OneCycleLR(o, 0.3, epochs=5, steps_per_epoch=6, three_phase=True, anneal_strategy="linear"),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=0.01),
    "plateau_max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.3, 1, 0.01, "abs", eps=1e-3),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.StepLR(o, 3, 0.5), s.CosineAnnealingLR(o, 9)], [5, 12]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9), s.StepLR(o, 5, 0.5)]),
    "swa": lambda s, o: s.SWALR(o, [0.05, 0.01], 6),
    "swa_linear": lambda s, o: s.SWALR(o, 0.02, 5, "linear"),
}  # fmt: skip


def names_of_schedules(torch):
    """All schedules' classes as one namespace."""

    class Names:
        SWALR = torch.optim.swa_utils.SWALR

    for name in torch.optim.lr_scheduler.__all__:
        setattr(Names, name, getattr(torch.optim.lr_scheduler, name))
    return Names


def curve(torch, make, steps=30):
    """Rates and momenta of two groups before each of `steps` steps: (steps, 4)."""
    params = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.05}], lr=0.2, momentum=0.9)
    schedule = make(names_of_schedules(torch), optimizer)
    rows = []
    for step in range(steps):
        rows.append([g[k] for k in ("lr", "momentum") for g in optimizer.param_groups])
        optimizer.step()
        advance(schedule, step)
    return np.array(rows)


def advance(schedule, step):
    if type(schedule).__name__ == "ReduceLROnPlateau":
        schedule.step(abs(7 - step) + 3.0)
    else:
        schedule.step()


def layouts(torch):
    """The names in the state dicts of every optimizer (after a step) and schedule, in their order."""
    result = {}
    for name, settings in OPTIMIZERS.items():
        for i, kwargs in enumerate(settings):
            p = torch.nn.Parameter(torch.ones(2, 2))
            optimizer = getattr(torch.optim, name)([p], **kwargs)

            def closure(p=p):
                p.grad = None
                loss = (p * p).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
            saved = optimizer.state_dict()
            result[f"{name}-{i}"] = [list(saved), list(saved["state"].get(0, {})), list(saved["param_groups"][0])]
    for name, make in SCHEDULES.items():
        params = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
        optimizer = torch.optim.SGD([{"params": params[:1]}, {"params": params[1:]}], lr=0.2, momentum=0.9)
        schedule = make(names_of_schedules(torch), optimizer)
        optimizer.step()
        advance(schedule, 0)
        result[name] = sorted(schedule.state_dict())
    return result
