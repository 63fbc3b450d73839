"""A causal language model in the manner of GPT-2 (Radford et al. 2019): learnt positions, pre-norm blocks, tied embedding."""

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, LONGEST, WIDTH, HEADS, LAYERS = 97, 64, 32, 4, 2


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(LONGEST, LONGEST)).view(1, 1, LONGEST, LONGEST))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (part.view(b, t, HEADS, c // HEADS).transpose(1, 2) for part in self.qkv(x).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (c // HEADS) ** -0.5
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        return self.out((F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attention = CausalSelfAttention()
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.ModuleDict(
            {"up": nn.Linear(WIDTH, 4 * WIDTH), "gelu": nn.GELU(approximate="tanh"), "down": nn.Linear(4 * WIDTH, WIDTH)}
        )

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        m = self.mlp
        return x + m["down"](m["gelu"](m["up"](self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self.initialise)

    def initialise(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.1)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids, targets):
        t = ids.shape[1]
        assert t <= LONGEST, f"{t} tokens, at most {LONGEST}"
        x = self.tokens(ids) + self.positions(torch.arange(t, device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def loss(logits, ids, targets):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


def batch(n, t):
    ids = torch.randint(0, VOCABULARY, (n, t + 1))
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()


def build():
    return GPT(), batch(4, 32), loss


def sizes():
    return [batch(2, 32), batch(3, 17), batch(5, 48)]
