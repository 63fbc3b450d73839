"""A mixture of experts (Shazeer et al. 2017; Fedus et al. 2021): top-2 routing with capacity, stacked experts, balancing loss."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, EXPERTS, TOP = 12, 4, 2


class Experts(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.w1, self.w2 = nn.Parameter(torch.empty(EXPERTS, WIDTH, hidden)), nn.Parameter(torch.empty(EXPERTS, hidden, WIDTH))
        for w in (self.w1, self.w2):
            nn.init.normal_(w, std=0.2)

    def forward(self, x):
        return torch.bmm(F.gelu(torch.bmm(x, self.w1)), self.w2)


class MoE(nn.Module):
    def __init__(self, capacity_factor=1.25):
        super().__init__()
        self.gate, self.experts, self.factor = nn.Linear(WIDTH, EXPERTS, bias=False), Experts(), capacity_factor
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x, labels):
        tokens = self.norm(x).flatten(0, 1)
        n = tokens.shape[0]
        probabilities = self.gate(tokens).softmax(-1)
        weights, chosen = probabilities.topk(TOP, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        capacity = int(self.factor * n * TOP / EXPERTS)
        onehot = F.one_hot(chosen, EXPERTS)
        place = onehot.transpose(0, 1).reshape(n * TOP, EXPERTS).cumsum(0) - 1
        place = (place.view(TOP, n, EXPERTS).transpose(0, 1) * onehot).sum(-1)
        kept = (place < capacity).float()
        slots = F.one_hot(place.clamp(max=capacity - 1), capacity).float() * kept.unsqueeze(-1)
        dispatch = torch.einsum("nke,nkc->nec", onehot.float(), slots)
        combine = torch.einsum("nke,nkc,nk->nec", onehot.float(), slots, weights)
        y = torch.einsum("nec,ecd->nd", combine, self.experts(torch.einsum("nec,nd->ecd", dispatch, tokens)))
        balance = EXPERTS * (probabilities.mean(0) * onehot[:, 0].float().mean(0)).sum()
        return self.head((x + y.view_as(x)).mean(1)), balance


def loss(out, x, labels):
    return F.cross_entropy(out[0], labels) + 0.01 * out[1]


def batch(n, t):
    return torch.randn(n, t, WIDTH), torch.randint(3, (n,))


def build():
    return MoE(), batch(3, 8), loss


def sizes():
    return [batch(2, 8), batch(4, 11), batch(3, 16)]
