"""A decoder in the manner of Llama (Touvron et al. 2023): RMSNorm, rotary embeddings, SwiGLU, grouped queries, a cache of keys."""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, KV_HEADS, LAYERS, HEAD = 101, 32, 4, 2, 2, 8


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x)


def rotary(positions, dim, base=10000.0):
    frequency = 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)
    angle = torch.outer(positions.float(), frequency)
    angle = torch.cat((angle, angle), dim=-1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.wk = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.wv = nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False)
        self.wo = nn.Linear(HEADS * HEAD, WIDTH, bias=False)

    def forward(self, x, rope, cache=None):
        n, t, _ = x.shape
        q = rotate(self.wq(x).view(n, t, HEADS, HEAD).transpose(1, 2), *rope)
        k = rotate(self.wk(x).view(n, t, KV_HEADS, HEAD).transpose(1, 2), *rope)
        v = self.wv(x).view(n, t, KV_HEADS, HEAD).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        cache = (k, v)
        k, v = (torch.repeat_interleave(a, HEADS // KV_HEADS, dim=1) for a in cache)
        mask = torch.ones(t, k.shape[2], dtype=torch.bool).tril(diagonal=k.shape[2] - t)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.wo(out.transpose(1, 2).reshape(n, t, -1)), cache


class FeedForward(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.gate = nn.Linear(WIDTH, hidden, bias=False)
        self.up = nn.Linear(WIDTH, hidden, bias=False)
        self.down = nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = RMSNorm(WIDTH), RMSNorm(WIDTH)

    def forward(self, x, rope, cache):
        out, cache = self.attention(self.attention_norm(x), rope, cache)
        x = x + out
        return x + self.feed_forward(self.ffn_norm(x)), cache


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = RMSNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def step(self, ids, caches, start):
        x = self.embed(ids)
        rope = rotary(torch.arange(start, start + ids.shape[1]), HEAD)
        kept = []
        for layer, cache in zip(self.layers, caches, strict=True):
            x, cache = layer(x, rope, cache)
            kept.append(cache)
        return self.output(self.norm(x)), kept

    def forward(self, ids):
        """The prompt at once, then four tokens one at a time from the cache: the logits of every position."""
        prompt = ids.shape[1] - 4
        logits, caches = self.step(ids[:, :prompt], [None] * LAYERS, 0)
        every = [logits]
        for i in range(prompt, ids.shape[1]):
            logits, caches = self.step(ids[:, i : i + 1], caches, i)
            every.append(logits)
        return torch.cat(every, dim=1)


def loss(logits, ids):
    return F.cross_entropy(logits[:, :-1].reshape(-1, VOCABULARY), ids[:, 1:].reshape(-1))


def batch(n, t):
    return (torch.randint(VOCABULARY, (n, t)),)


def build():
    return Llama(), batch(3, 20), loss


def sizes():
    return [batch(2, 20), batch(3, 13), batch(4, 31)]
