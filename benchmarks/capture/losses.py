"""Layers and losses."""

import torch
import torch.nn.functional as F

from benchmarks.capture import normal, program


def labelled(*sizes, classes=7):
    """Inputs with a last one of labels."""
    make = normal(*sizes)
    return lambda n, rng: (*make(n, rng), rng.integers(0, classes, n))


@program(normal(("n", 8), ("n", 8)))
def contrastive(a, b):
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    logits = a @ b.T / 0.07
    labels = torch.arange(a.shape[0])
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


@program(labelled(("n", 7)))
def label_smoothing(logits, labels):
    logp = logits.log_softmax(-1)
    nll = -logp.gather(1, labels[:, None]).squeeze(1)
    return (0.9 * nll - 0.1 * logp.mean(-1)).mean()


@program(labelled(("n", 7)))
def focal(logits, labels):
    ce = F.cross_entropy(logits, labels, reduction="none")
    return ((1 - torch.exp(-ce)) ** 2 * ce).mean()


@program(labelled(("n", 7), ("n", 7)))
def distillation(student, teacher, labels):
    soft = F.kl_div((student / 4).log_softmax(-1), (teacher.detach() / 4).softmax(-1), reduction="batchmean") * 16
    return 0.5 * soft + 0.5 * F.cross_entropy(student, labels)


@program(normal((2, "n", 12), (12, 36), (12, 12)))
def causal_attention(x, qkv, out):
    b, t, c = x.shape
    q, k, v = (part.reshape(b, t, 3, 4).transpose(1, 2) for part in (x @ qkv).chunk(3, dim=-1))
    scores = q @ k.transpose(-2, -1) / 2
    scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c) @ out


@program(normal((2, "n", 4, 8), (2, "n", 4, 8)))
def rotary_attention(q, k):
    t = torch.arange(q.shape[1], dtype=torch.float32)
    angles = torch.outer(t, 10000.0 ** (-torch.arange(0, 8, 2) / 8.0))
    cos, sin = (f(torch.cat([angles, angles], -1))[None, :, None] for f in (torch.cos, torch.sin))

    def rotated(x):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin

    return torch.einsum("bthd,bshd->bhts", rotated(q), rotated(k)).softmax(-1).square().sum()


@program(normal((4, "n", 6), (6, 18), (6, 18), (18,)))
def gru_of_four_steps(x, wx, wh, b):
    h = torch.zeros(x.shape[1], 6)
    states = []
    for step in x:
        gx, gh = step @ wx + b, h @ wh
        r, z = torch.sigmoid(gx[:, :6] + gh[:, :6]), torch.sigmoid(gx[:, 6:12] + gh[:, 6:12])
        h = (1 - z) * torch.tanh(gx[:, 12:] + r * gh[:, 12:]) + z * h
        states.append(h)
    return torch.stack(states)


@program(normal((1, 3, "n", 8), (6, 3, 3, 3), (6,)))
def convolution_and_pooling(x, w, b):
    y = F.gelu(F.conv2d(x, w, b, padding=1))
    return F.adaptive_avg_pool2d(y, 1).flatten(1), F.max_pool2d(y, 2).amax((2, 3))


@program(normal(("n", 16), (16,), (16, 32), (32, 16)))
def rms_norm_and_swiglu(x, g, w1, w2):
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g
    a, b = (y @ w1).chunk(2, -1)
    return x + torch.cat([F.silu(a) * b, a], -1) @ w2
