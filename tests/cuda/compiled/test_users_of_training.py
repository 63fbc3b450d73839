"""Gradients and training on a device and on the CPU: every optimizer, layer and loss."""

from __future__ import annotations

import copy
import warnings

import pytest

import weft
from tests.cuda.compiled.as_on_cpu import same
from tests.cuda.compiled.programs import Programs, seq

nn, F = weft.nn, weft.nn.functional
program = Programs()


@program
def gradients_across_devices(d):
    a = weft.ones(3, requires_grad=True)
    b = weft.ones(3, device=d, requires_grad=True)
    ((a.to(d) * b * 2).cpu() * a).sum().backward()
    return [a.grad, b.grad, a.grad.device.type, b.grad.device.type == d]


@program
def gradients_of_the_wrong_device(d):
    x = weft.ones(3, device=d, requires_grad=True)
    (x * 2).backward(weft.ones(4, device=d))


@program
def hooks_and_retained(d):
    x, seen = seq(d, 3).requires_grad_(), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.sum().item()))
    (y * y).sum().backward()
    return [x.grad, y.grad, seen]


@program
def second_derivatives(d):
    x = seq(d, 4).requires_grad_()
    (g,) = weft.autograd.grad((x.sin() * x.exp()).sum(), x, create_graph=True)
    return [
        g,
        *weft.autograd.grad((g * g).sum(), x),
        weft.autograd.functional.hessian(lambda x: (x**3).sum(), seq(d, 3)),
        weft.func.jacrev(lambda x: x * x)(seq(d, 3)),
        weft.func.jvp(weft.sin, (seq(d, 3),), (seq(d, 3),)),
        weft.vmap(lambda x: x @ x)(seq(d, 3, 4)),
    ]


@program
def without_grad(d):
    x = seq(d, 3).requires_grad_()
    with weft.no_grad():
        y = x * 2
    with weft.inference_mode():
        z = x * 3
    return [y.requires_grad, z.is_inference(), y, z.clone(), x.detach().requires_grad, x.grad]


@program
def overwritten_before_backward(d):
    x = seq(d, 3).requires_grad_()
    y = x.exp()
    y.add_(1)
    y.sum().backward()


@program
def backward_twice(d):
    x = seq(d, 3).requires_grad_()
    y = (x * x).sum()
    y.backward()
    y.backward()


@program
def anomalies(d):
    x = weft.zeros(2, device=d, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with weft.autograd.detect_anomaly():
            (x.sqrt() * 0).sum().backward()


def trained(d, make, steps=3, model=None, compiled=False, step=None):
    weft.manual_seed(0)
    net = (model or (lambda: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))))().to(d)
    run = weft.compile(net) if compiled else net
    optimizer = make(net.parameters())
    losses = []
    for k in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(run(seq(d, 5, 4) + k), seq(d, 5, 2))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, [p.detach() for p in net.parameters()]]


for _name, _make in {
    "sgd": lambda p: weft.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "sgd_fused": lambda p: weft.optim.SGD(p, 0.1, momentum=0.9, fused=True),
    "adam_foreach": lambda p: weft.optim.Adam(p, 0.1, foreach=True),
    "adam_fused_amsgrad": lambda p: weft.optim.Adam(p, 0.1, fused=True, amsgrad=True),
    "adamw_one_by_one": lambda p: weft.optim.AdamW(p, 0.1, foreach=False),
    "rmsprop": lambda p: weft.optim.RMSprop(p, 0.01, centered=True, momentum=0.5),
    "adagrad": lambda p: weft.optim.Adagrad(p, 0.1),
    "adamax": lambda p: weft.optim.Adamax(p, 0.1),
    "nadam": lambda p: weft.optim.NAdam(p, 0.1),
    "radam": lambda p: weft.optim.RAdam(p, 0.1),
    "adadelta": lambda p: weft.optim.Adadelta(p),
    "rprop": lambda p: weft.optim.Rprop(p, 0.1),
    "asgd": lambda p: weft.optim.ASGD(p, 0.1),
}.items():
    program[f"trained_by_{_name}"] = lambda d, make=_make: trained(d, make)


@program
def trained_compiled(d):
    return trained(d, lambda p: weft.optim.AdamW(p, 0.05), compiled=True)


@program
def trained_by_lbfgs(d):
    weft.manual_seed(0)
    w = weft.zeros(3, device=d, requires_grad=True)
    optimizer = weft.optim.LBFGS([w], max_iter=4)

    def closure():
        optimizer.zero_grad()
        loss = ((w - seq(d, 3)) ** 2).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure).detach(), w.detach()]


@program
def schedules(d):
    net = nn.Linear(2, 2).to(d)
    optimizer = weft.optim.SGD(net.parameters(), 0.1)
    scheduler = weft.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)
    rates = []
    for _ in range(4):
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    return rates


@program
def clipped_and_averaged(d):
    weft.manual_seed(0)
    net = nn.Linear(3, 2).to(d)
    net(seq(d, 4, 3)).pow(2).sum().backward()
    total = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    nn.utils.clip_grad_value_(net.parameters(), 0.1)
    vector = nn.utils.parameters_to_vector(net.parameters())
    return [total, [p.grad for p in net.parameters()], vector.detach()]


@program
def mixed_precision(d):
    weft.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)).to(d)
    scaler = weft.amp.GradScaler(d, init_scale=16.0, growth_interval=2)
    optimizer = weft.optim.SGD(net.parameters(), 0.05)
    out = []
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        with weft.autocast(d, dtype=weft.bfloat16):
            y = net(seq(d, 5, 4))
            loss = F.cross_entropy(y, weft.tensor([0, 1, 1, 0, 1], device=d))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        out += [y.dtype, loss.dtype, loss.detach().bfloat16(), scaler.get_scale()]
    return out


@program
def layers_of_every_kind(d):
    weft.manual_seed(0)
    x, s = seq(d, 2, 4, 6), seq(d, 2, 4, 6, 6)
    layers = [
        (nn.Conv1d(4, 3, 3, padding=1), x),
        (nn.Conv2d(4, 6, 3, stride=2, groups=2), s),
        (nn.BatchNorm1d(4), x),
        (nn.GroupNorm(2, 4), x),
        (nn.InstanceNorm1d(4, affine=True), x),
        (nn.LayerNorm(6), x),
        (nn.RMSNorm(6), x),
        (nn.PReLU(), x),
        (nn.AdaptiveAvgPool1d(3), x),
        (nn.AvgPool2d(2), s),
        (nn.MaxPool1d(2), x),
        (nn.Upsample(scale_factor=2, mode="bilinear"), s),
        (nn.Softmax(-1), x),
        (nn.Bilinear(6, 6, 2), (x, x)),
        (nn.GRU(6, 5, batch_first=True), x),
        (nn.PixelShuffle(2), s),
        (nn.Flatten(), x),
        (nn.ConvTranspose1d(4, 2, 3), x),
        (nn.GLU(), x),
        (nn.LocalResponseNorm(2), s),
        (nn.CosineSimilarity(), (x, x + 1)),
        (nn.Fold((4, 4), 2), seq(d, 1, 4, 9)),
        (nn.Unfold(2), s),
    ]
    out = []
    for layer, given in layers:
        layer.to(d)
        y = layer(*given) if isinstance(given, tuple) else layer(given)
        first = y[0] if isinstance(y, tuple) else y
        grads = (
            weft.autograd.grad(first.pow(2).sum(), list(layer.parameters()), allow_unused=True) if list(layer.parameters()) else []
        )
        out += [first.detach(), [g for g in grads if g is not None]]
    return out


@program
def losses_of_every_kind(d):
    x = seq(d, 6, 5).requires_grad_()
    t, y = weft.tensor([0, 4, 2, 1, 3, -100], device=d), seq(d, 6, 5).sigmoid()
    found = [
        F.cross_entropy(x, t),
        F.cross_entropy(x, t, label_smoothing=0.1, weight=weft.arange(1.0, 6, device=d)),
        F.nll_loss(x.log_softmax(1), t),
        F.binary_cross_entropy_with_logits(x, y),
        F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
        F.huber_loss(x, y),
        F.smooth_l1_loss(x, y),
        F.l1_loss(x, y),
        F.margin_ranking_loss(x, y, x.sign().detach()),
        F.cosine_embedding_loss(x, y, weft.ones(6, device=d)),
        F.triplet_margin_loss(x, y, y.flip(0)),
        F.poisson_nll_loss(x, y),
        F.gaussian_nll_loss(x, y, y),
        F.soft_margin_loss(x, y.sign()),
        F.multi_margin_loss(x[:5], t[:5]),
        F.ctc_loss(seq(d, 7, 2, 5).log_softmax(2), weft.tensor([[1, 2], [3, 4]], device=d), (7, 7), (2, 2)),
    ]
    return [[f.detach() for f in found], weft.autograd.grad(sum(found), x)]


@program
def embeddings(d):
    weft.manual_seed(0)
    table = nn.Embedding(7, 3, padding_idx=0).to(d)
    bag = nn.EmbeddingBag(7, 3, mode="mean").to(d)
    i = weft.tensor([[1, 0, 6], [2, 2, 5]], device=d)
    out = table(i).pow(2).sum() + bag(i).pow(2).sum()
    out.backward()
    return [out.detach(), table.weight.grad, bag.weight.grad]


@program
def an_index_out_of_range(d):
    return F.embedding(weft.tensor([7], device=d), weft.ones(3, 2, device=d)).sum().item()


@program
def modules_move(d):
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    net.to(d).to("cpu").to(device=d, dtype=weft.float64)
    other = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    other.load_state_dict(net.state_dict())
    net.half().float()
    return [
        len(net.state_dict()),
        next(other.parameters()).device.type,
        [p.dtype for p in net.parameters()],
        net[1].num_batches_tracked.dtype,
    ]


@program
def a_state_of_an_optimizer(d):
    weft.manual_seed(0)
    net = nn.Linear(2, 2).to(d)
    optimizer = weft.optim.Adam(net.parameters(), 0.1)
    net(seq(d, 3, 2)).sum().backward()
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    again = weft.optim.Adam(net.parameters(), 0.2)
    again.load_state_dict(state)
    again.step()
    steps = [s["step"] for s in state["state"].values()]
    return [
        again.param_groups[0]["lr"],
        [p.detach() for p in net.parameters()],
        [s.item() for s in steps],
        [s.device.type for s in steps],
    ]


@pytest.mark.parametrize("name", program)
def test_as_on_the_cpu(cuda, name):
    same(program[name])
