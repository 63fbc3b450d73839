"""T5-like encoder and decoder (Raffel et al. 2019): relative position buckets, no biases, gated GELU, teacher forcing."""

import math

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, KEY, LAYERS, BUCKETS, FURTHEST = 71, 24, 3, 8, 2, 8, 20


class T5Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def bucket(relative, both_ways):
    """relative: memory position minus query position. The bucket of each, exact when near and logarithmic when far."""
    buckets, out = BUCKETS, torch.zeros_like(relative)
    if both_ways:
        buckets //= 2
        out = out + (relative > 0).to(torch.long) * buckets
        relative = torch.abs(relative)
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = buckets // 2
    far = exact + (torch.log(relative.float().clamp(min=1) / exact) / math.log(FURTHEST / exact) * (buckets - exact)).to(torch.long)
    far = torch.min(far, torch.full_like(far, buckets - 1))
    return out + torch.where(relative < exact, relative, far)


class Attention(nn.Module):
    def __init__(self, both_ways=None):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, HEADS * KEY, bias=False) for _ in range(3))
        self.o = nn.Linear(HEADS * KEY, WIDTH, bias=False)
        self.both_ways = both_ways
        self.bias = nn.Embedding(BUCKETS, HEADS) if both_ways is not None else None

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        q, k, v = (
            f(a).unflatten(-1, (HEADS, KEY)).transpose(1, 2) for f, a in ((self.q, x), (self.k, memory), (self.v, memory))
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        if self.bias is not None:
            relative = torch.arange(memory.shape[1])[None, :] - torch.arange(x.shape[1])[:, None]
            scores += self.bias(bucket(relative, self.both_ways)).permute(2, 0, 1).unsqueeze(0)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.attention, self.norm = Attention(both_ways=not decoder), T5Norm()
        if decoder:
            self.cross, self.cross_norm = Attention(), T5Norm()
        self.gate, self.up, self.down = (nn.Linear(*s, bias=False) for s in ((WIDTH, 48), (WIDTH, 48), (48, WIDTH)))
        self.ff_norm = T5Norm()

    def forward(self, x, mask, memory=None, memory_mask=None):
        x = x + self.attention(self.norm(x), mask=mask)
        if hasattr(self, "cross"):
            x = x + self.cross(self.cross_norm(x), memory, memory_mask)
        y = self.ff_norm(x)
        return x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))


class T5(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.ModuleList(Block(decoder=False) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(Block(decoder=True) for _ in range(LAYERS))
        self.encoder_norm, self.decoder_norm = T5Norm(), T5Norm()

    def forward(self, source, target):
        keep = (source != 0)[:, None, None, :]
        memory = self.shared(source)
        for block in self.encoder:
            memory = block(memory, keep)
        memory = self.encoder_norm(memory)
        shifted = F.pad(target[:, :-1], (1, 0), value=0)
        causal = torch.tril(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool))
        y = self.shared(shifted)
        for block in self.decoder:
            y = block(y, causal, memory, keep)
        return (self.decoder_norm(y) * WIDTH**-0.5) @ self.shared.weight.T


def loss(logits, source, target):
    return F.cross_entropy(logits.transpose(1, 2), target, label_smoothing=0.1)


def batch(n, s, t):
    source = torch.randint(1, VOCABULARY, (n, s))
    source[-1, s - 4 :] = 0
    return source, torch.randint(1, VOCABULARY, (n, t))


def build():
    return T5(), batch(3, 18, 12), loss


def sizes():
    return [batch(2, 18, 12), batch(4, 25, 9), batch(3, 11, 16)]
