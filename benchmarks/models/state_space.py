"""A selective state-space layer in the manner of Mamba (Gu and Dao 2023): a scan over time with steps that depend on the input."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, INNER, STATE, RANK = 12, 24, 4, 2


class SelectiveSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_proj = nn.Linear(WIDTH, 2 * INNER, bias=False)
        self.conv1d = nn.Conv1d(INNER, INNER, 3, groups=INNER, padding=2)
        self.x_proj = nn.Linear(INNER, RANK + 2 * STATE, bias=False)
        self.dt_proj = nn.Linear(RANK, INNER)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, STATE + 1, dtype=torch.float32).repeat(INNER, 1)))
        self.D = nn.Parameter(torch.ones(INNER))
        self.out_proj = nn.Linear(INNER, WIDTH, bias=False)

    def scan(self, u, delta, A, B, C):
        dA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
        dBu = torch.einsum("bld,bln,bld->bldn", delta, B, u)
        x = torch.zeros(u.shape[0], INNER, STATE)
        ys = []
        for i in range(u.shape[1]):
            x = dA[:, i] * x + dBu[:, i]
            ys.append(torch.einsum("bdn,bn->bd", x, C[:, i, :]))
        return torch.stack(ys, dim=1) + u * self.D

    def forward(self, x):
        length = x.shape[1]
        x, gate = self.in_proj(x).split(split_size=[INNER, INNER], dim=-1)
        x = self.conv1d(x.transpose(1, 2))[:, :, :length].transpose(1, 2)
        x = F.silu(x)
        delta, B, C = self.x_proj(x).split([RANK, STATE, STATE], dim=-1)
        y = self.scan(x, F.softplus(self.dt_proj(delta)), -torch.exp(self.A_log.float()), B, C)
        return self.out_proj(y * F.silu(gate))


class StateSpace(nn.Module):
    def __init__(self, vocabulary=23):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        self.layers = nn.ModuleList([SelectiveSSM() for _ in range(2)])
        self.norms = nn.ModuleList([nn.RMSNorm(WIDTH) for _ in range(2)])

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return x @ self.embedding.weight.t()


def loss(logits, ids):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def batch(n, t):
    return (torch.randint(23, (n, t)),)


def build():
    return StateSpace(), batch(3, 9), loss


def sizes():
    return [batch(2, 9), batch(5, 9), batch(3, 12)]
