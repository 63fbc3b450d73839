"""Small models of many kinds, in PyTorch's API. `torch` is whichever module offers it.

A model is a Case: `make(torch, nn, F)` gives the module, `batch(rng)` the NumPy arrays of a step, `loss(module, *tensors)` what
is minimised beside whatever else the step returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    name: str
    make: Callable[[Any], Any]
    batch: Callable[[np.random.Generator], tuple]
    optimizer: Callable[[Any, list], Any]
    random: bool = False  # draws random numbers: every library draws others
    float_inputs: bool = True  # floating inputs require gradients
    symbolic: bool = False  # small enough to be compiled for symbolic sizes as well


CASES: list[Case] = []


def sgd(torch, parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, weight_decay=0.01)


def nesterov(torch, parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True)


def adam(torch, parameters):
    return torch.optim.Adam(parameters, lr=0.01, amsgrad=True)


def adamw(torch, parameters):
    return torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1)


def case(batch, optimizer=sgd, **options):
    def register(make):
        CASES.append(Case(make.__name__, make, batch, optimizer, **options))
        return make

    return register


def normal(rng, *shape):
    return rng.normal(size=shape).astype("f4")


def images(rng):
    return normal(rng, 6, 3, 12, 12), rng.integers(0, 5, 6)


def rows(rng):
    return normal(rng, 70, 12), rng.integers(0, 5, 70)


def regression(rng):
    return normal(rng, 33, 12), normal(rng, 33, 4)


def sequence(rng):
    return normal(rng, 4, 7, 12), normal(rng, 4, 5)


def tokens(rng):
    return rng.integers(0, 20, (5, 9)), rng.integers(0, 20, (5, 9))


def module(torch, parts: dict, forward, buffers: dict | None = None):
    """A module with these parts (modules, or shapes of parameters) and buffers whose forward is `forward(self, F, *inputs)`."""

    class Made(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, part in parts.items():
                part = torch.nn.Parameter(torch.zeros(part)) if isinstance(part, tuple) else part
                setattr(self, name, part)
            for name, value in (buffers or {}).items():
                self.register_buffer(name, value)

        def forward(self, *inputs):
            return forward(self, torch.nn.functional, *inputs)

    return Made()


# ------------------------------------------------------------------------------------------------------------- images
@case(images)
def cnn_with_batch_norm(torch):
    def forward(m, F, x, y):
        x = F.conv2d(x, m.w1, m.b1, padding=1)
        x = F.batch_norm(x, m.mean, m.var, m.g1, m.c1, training=m.training, momentum=0.1)
        x = F.max_pool2d(F.relu(x), 2)
        x = F.avg_pool2d(F.relu(F.conv2d(x, m.w2, stride=1)), 2)
        out = m.head(x.flatten(1))
        return F.cross_entropy(out, y), out

    parts = {"w1": (8, 3, 3, 3), "b1": (8,), "g1": (8,), "c1": (8,), "w2": (6, 8, 3, 3), "head": torch.nn.Linear(24, 5)}
    return module(torch, parts, forward, {"mean": torch.zeros(8), "var": torch.ones(8)})


@case(images)
def autoencoder(torch):
    def forward(m, F, x, y):
        code = torch.tanh(F.conv2d(x, m.w, stride=2, padding=1))
        back = torch.sigmoid(F.conv_transpose2d(code, m.v, stride=2, padding=1, output_padding=1))
        return F.binary_cross_entropy(back, torch.sigmoid(x.detach())), code, back

    return module(torch, {"w": (4, 3, 3, 3), "v": (4, 3, 3, 3)}, forward)


# ------------------------------------------------------------------------------------------------------------- sequences
@case(sequence, adam)
def lstm_by_hand(torch):
    def forward(m, F, x, y):
        h = c = x.new_zeros(x.shape[0], 8)
        states = []
        for t in range(x.shape[1]):
            i, f, g, o = (m.x(x[:, t]) + m.h(h)).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        out = m.head(h)
        return F.mse_loss(out, y) + 0.01 * torch.stack(states, 1).pow(2).mean(), torch.stack(states, 1), c

    linear = torch.nn.Linear
    return module(torch, {"x": linear(12, 32), "h": linear(8, 32, bias=False), "head": linear(8, 5)}, forward)


@case(sequence)
def gru_by_hand(torch):
    def forward(m, F, x, y):
        h = torch.zeros(x.shape[0], 6)
        for t in reversed(range(x.shape[1])):
            gates = x[:, t] @ m.w + m.b
            rest = h @ m.u
            r, z = torch.sigmoid(gates[:, :12] + rest[:, :12]).split(6, 1)
            n = torch.tanh(gates[:, 12:] + r * rest[:, 12:])
            h = torch.lerp(n, h, z)
        return F.smooth_l1_loss(h @ m.head, y, beta=0.5), h

    return module(torch, {"w": (12, 18), "u": (6, 18), "b": (18,), "head": (6, 5)}, forward)


@case(sequence, nesterov, symbolic=True)
def masked_attention(torch):
    def forward(m, F, x, y):
        B, T, C = x.shape
        q, k, v = m.qkv(x).view(B, T, 3, 2, 6).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(6)
        scores = scores.masked_fill(torch.ones(T, T).tril() == 0, float("-inf"))
        weights = scores.softmax(-1)
        x = x + m.out((weights @ v).transpose(1, 2).reshape(B, T, C))
        return F.l1_loss(m.head(x.mean(1)), y), weights

    linear = torch.nn.Linear
    return module(torch, {"qkv": linear(12, 36), "out": linear(12, 12), "head": linear(12, 5)}, forward)


@case(sequence)
def attention_with_padding(torch):
    def forward(m, F, x, y):
        lengths = torch.tensor([7, 3, 5, 1])
        mask = torch.arange(x.shape[1])[None, :] < lengths[:, None]
        q = m.query.expand(x.shape[0], 2, 12)
        z = F.scaled_dot_product_attention(q, x, m.value(x), attn_mask=mask[:, None, :])
        return F.huber_loss(m.head(z.flatten(1)), y, delta=0.7), z

    linear = torch.nn.Linear
    return module(torch, {"query": (2, 12), "value": linear(12, 12), "head": linear(24, 5)}, forward)


@case(tokens, adam, float_inputs=False)
def tied_language_model(torch):
    def forward(m, F, x, y):
        z = m.embed(x) + m.positions[: x.shape[1]]
        z = F.layer_norm(z + F.gelu(m.mix(F.rms_norm(z, (16,))), approximate="tanh"), (16,), m.g, m.b)
        logits = F.linear(z, m.embed.weight)
        return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=3), logits

    nn = torch.nn
    parts = {"embed": nn.Embedding(20, 16), "positions": (9, 16), "mix": nn.Linear(16, 16), "g": (16,), "b": (16,)}
    return module(torch, parts, forward)


@case(tokens, float_inputs=False)
def bag_of_padded_words(torch):
    def forward(m, F, x, y):
        kept = (x != 0).float().unsqueeze(-1)
        z = (m.embed(x) * kept).sum(1) / kept.sum(1).clamp(min=1)
        return F.nll_loss(F.log_softmax(m.head(z), -1), y[:, 0] % 4, reduction="sum") / 5, z

    nn = torch.nn
    return module(torch, {"embed": nn.Embedding(20, 6, padding_idx=0), "head": nn.Linear(6, 4)}, forward)


@case(sequence)
def temporal_convolution(torch):
    def forward(m, F, x, y):
        z = F.conv1d(F.pad(x.transpose(1, 2), (2, 0)), m.w, dilation=2)
        z = F.glu(z, 1)
        z = z.cumsum(-1)[..., -1] + F.max_pool1d(z, 3, stride=2).amax(-1)
        return F.mse_loss(m.head(z), y), z

    return module(torch, {"w": (16, 12, 2), "head": torch.nn.Linear(8, 5)}, forward)


# ------------------------------------------------------------------------------------------------------------- rows
@case(rows, adamw, symbolic=True)
def residual_mlp(torch):
    def forward(m, F, x, y):
        for linear in m.layers:
            x = x + F.silu(linear(F.layer_norm(x, (12,), m.g, m.b)))
        out = m.head(x)
        return F.cross_entropy(out, y, weight=torch.tensor([1.0, 2.0, 0.5, 1.0, 3.0])), out

    nn = torch.nn
    layers = nn.ModuleList([nn.Linear(12, 12) for _ in range(3)])
    return module(torch, {"layers": layers, "g": (12,), "b": (12,), "head": nn.Linear(12, 5)}, forward)


@case(rows)
def mixture_of_experts(torch):
    def forward(m, F, x, y):
        gate = F.softmax(m.gate(x), -1)
        top, chosen = gate.topk(2, -1)
        every = torch.einsum("nd,edk->nek", x, m.experts)
        picked = every.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 5))
        out = (picked * (top / top.sum(-1, keepdim=True)).unsqueeze(-1)).sum(1)
        load = torch.zeros(4).scatter_add(0, chosen.flatten(), top.flatten())
        return F.cross_entropy(out, y) + load.var(), out, load

    return module(torch, {"gate": torch.nn.Linear(12, 4), "experts": (4, 12, 5)}, forward)


@case(regression)
def weighted_losses(torch):
    def forward(m, F, x, y):
        out = m.f(x)
        total = F.poisson_nll_loss(out, y.exp()) + F.gaussian_nll_loss(out, y, m.spread.exp().expand(out.shape))
        total = total + F.kl_div(F.log_softmax(out, 1), F.softmax(y, 1), reduction="batchmean")
        total = total + F.binary_cross_entropy_with_logits(out, (y > 0).float(), pos_weight=torch.tensor([1.0, 2, 3, 4]))
        return total + F.soft_margin_loss(out, torch.sign(y)), out

    return module(torch, {"f": torch.nn.Linear(12, 4), "spread": (4,)}, forward)


@case(regression, nesterov)
def in_place_activations(torch):
    def forward(m, F, x, y):
        z = m.f(x)
        z.mul_(0.5).tanh_()
        z[:, ::2].add_(1.0)
        z[:, 0] = z[:, 1] * 2
        w = F.relu(m.g(z), inplace=True)
        w = w.add(x[:, :4]).sub_(0.5)
        return F.mse_loss(w, y), w, z

    return module(torch, {"f": torch.nn.Linear(12, 8), "g": torch.nn.Linear(8, 4)}, forward)


@case(regression, symbolic=True)
def views_of_inputs(torch):
    def forward(m, F, x, y):
        z = m.f(x)
        return F.mse_loss(z, y), x[:, 2:5], x.t(), z.t(), y.view(-1, 2), m.f.weight[0]

    return module(torch, {"f": torch.nn.Linear(12, 4)}, forward)


@case(regression)
def an_input_used_twice(torch):
    def forward(m, F, x, y):
        gram = x @ x.t() / 12
        z = F.normalize(gram, dim=1) @ x + x
        return F.mse_loss(torch.tanh(m.f(z) * m.f(x)), y), gram.diagonal()

    return module(torch, {"f": torch.nn.Linear(12, 4)}, forward)


@case(regression)
def non_contiguous_activations(torch):
    def forward(m, F, x, y):
        z = m.f(x).view(33, 4, 3).permute(2, 0, 1)
        z = F.softmax(z, 0).transpose(0, 2)
        z = (z - z.mean((0, 2), keepdim=True)) / (z.var((0, 2), keepdim=True) + 0.1).sqrt()
        z = z.flip(1).roll(2, 0)
        return F.mse_loss(z[..., 0].t().contiguous(), y), z

    return module(torch, {"f": torch.nn.Linear(12, 12)}, forward)


@case(regression, symbolic=True)
def buffers_that_are_updated(torch):
    def forward(m, F, x, y):
        with torch.no_grad():
            m.average.mul_(0.9).add_(x.mean(0), alpha=0.1)
            m.count += 1
        z = m.f((x - m.average) * torch.rsqrt(m.count))
        return F.mse_loss(z, y), z

    return module(torch, {"f": torch.nn.Linear(12, 4)}, forward, {"average": torch.zeros(12), "count": torch.ones(())})


@case(rows, adam, random=True)
def dropout(torch):
    def forward(m, F, x, y):
        x = F.dropout(F.relu(m.f(x)), 0.3, m.training)
        out = m.head(F.dropout(x, 0.1, m.training))
        return F.cross_entropy(out, y), out

    return module(torch, {"f": torch.nn.Linear(12, 16), "head": torch.nn.Linear(16, 5)}, forward)


@case(rows, random=True)
def noise(torch):
    def forward(m, F, x, y):
        mean, log = m.f(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log).exp()
        divergence = -0.5 * (1 + log - mean.square() - log.exp()).sum(1).mean()
        return F.mse_loss(m.g(z), x.detach()) + 0.1 * divergence + F.cross_entropy(m.h(z * torch.rand_like(z)), y), z

    linear = torch.nn.Linear
    return module(torch, {"f": linear(12, 8), "g": linear(4, 12), "h": linear(4, 5)}, forward)


@case(regression)
def low_rank_and_norms(torch):
    def forward(m, F, x, y):
        w = m.u @ m.v / (m.u.norm() * m.v.norm(dim=1, keepdim=True).clamp(min=1e-3)).sum()
        z = x @ w
        far = torch.cdist(z, y)
        return far.diagonal().mean() + torch.logsumexp(-far, 1).mean() + w.abs().sum() * 0.01, w

    return module(torch, {"u": (12, 2), "v": (2, 4)}, forward)


@case(regression)
def pieces_and_conditions(torch):
    def forward(m, F, x, y):
        a, b = torch.where(x > 0, x, m.slope * x).split([5, 7], 1)
        z = torch.cat([a.sort(1)[0], torch.stack([b.amax(1), b.median(1)[0], b.prod(1)], 1)], 1)
        z = torch.clamp(F.leaky_relu(m.f(F.pad(z, (1, 0), value=0.5))), -2, 2)
        return (z - y).abs().pow(1.5).mean(), z.cummax(1)[0], torch.maximum(z, y)

    return module(torch, {"slope": (12,), "f": torch.nn.Linear(9, 4)}, forward)


@case(regression)
def tables_that_are_written(torch):
    def forward(m, F, x, y):
        index = (x[:, 0].detach().abs() * 10).long() % 6
        table = torch.zeros(6, 4).index_add(0, index, m.f(x))
        table = table.index_put((torch.tensor([0, 2]),), m.rows, accumulate=True)
        z = table[index] * F.one_hot(index % 4, 4) + table.index_select(0, index)
        return F.mse_loss(z, y), table

    return module(torch, {"f": torch.nn.Linear(12, 4), "rows": (2, 4)}, forward)


@case(regression)
def activations(torch):
    def forward(m, F, x, y):
        z = m.f(x)
        for f in (F.elu, F.selu, F.softplus, F.mish, F.hardswish, F.logsigmoid, F.softsign, F.tanhshrink, F.hardsigmoid):
            z = z + 0.3 * f(z)
        z = F.prelu(z, m.slope) + F.softmin(z, 1) + F.celu(z, 0.5) + torch.erf(z) + torch.atan2(z, y)
        return F.mse_loss(z, y), z

    return module(torch, {"f": torch.nn.Linear(12, 4), "slope": (4,)}, forward)


# ------------------------------------------------------------------------------------------------------------- a run
def initialise(model: Any, torch: Any, seed: int) -> None:
    """Fills every parameter from NumPy's generator, whatever `torch` is."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for _, p in sorted(model.named_parameters()):
            p.copy_(torch.from_numpy((rng.normal(size=tuple(p.shape)) * 0.3).astype("f4")))


def train(torch: Any, case: Case, wrap: Callable, steps: int = 5) -> dict[str, np.ndarray]:
    """Everything that a training run shows: results, gradients, parameters and buffers of every step, and a last
    evaluation. `wrap` compiles the module, or returns it."""
    model = case.make(torch)
    initialise(model, torch, seed=1)
    torch.manual_seed(0)
    optimizer = case.optimizer(torch, list(model.parameters()))
    run, rng, seen = wrap(model), np.random.default_rng(2), {}

    def note(name, t):
        seen[name] = np.array(t.detach().numpy())

    for step in range(steps):
        inputs = [torch.from_numpy(np.array(a)) for a in case.batch(rng)]
        if case.float_inputs:
            inputs[0].requires_grad_()
        optimizer.zero_grad()
        loss, *others = run(*inputs)
        loss.backward()
        note(f"{step} loss", loss)
        for k, t in enumerate(others):
            note(f"{step} result {k}", t)
            assert t.requires_grad or not step or f"{step - 1} result {k}" in seen
        for k, t in enumerate(inputs):
            if t.grad is not None:
                note(f"{step} gradient of input {k}", t.grad)
        for name, p in model.named_parameters():
            if p.grad is not None:
                note(f"{step} gradient of {name}", p.grad)
        optimizer.step()
        for name, p in [*model.named_parameters(), *model.named_buffers()]:
            note(f"{step} {name}", p)
    model.eval()
    with torch.no_grad():
        for k, t in enumerate(run(*(torch.from_numpy(np.array(a)) for a in case.batch(rng)))):
            note(f"evaluation {k}", t)
    return seen
