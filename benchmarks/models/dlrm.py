"""A recommender in the manner of DLRM (Naumov et al. 2019): bags of embeddings, pairwise dots of the features, two MLPs."""

import torch
from torch import nn

ROWS, DIM, DENSE = (50, 30, 20), 8, 5


def mlp(*sizes, last=nn.ReLU):
    layers = nn.ModuleList()
    for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False)):
        layers.append(nn.Linear(a, b))
        layers.append(nn.ReLU() if i < len(sizes) - 2 else last())
    return nn.Sequential(*layers)


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(rows, DIM, mode="sum") for rows in ROWS])
        self.bottom = mlp(DENSE, 16, DIM)
        features = len(ROWS) + 1
        self.top = mlp(DIM + features * (features - 1) // 2, 16, 1, last=nn.Sigmoid)

    def interact(self, dense, sparse):
        n, d = dense.shape
        t = torch.cat([dense, *sparse], dim=1).view((n, -1, d))
        z = torch.bmm(t, torch.transpose(t, 1, 2))
        _, ni, nj = z.shape
        li = torch.tensor([i for i in range(ni) for j in range(i)])
        lj = torch.tensor([j for i in range(nj) for j in range(i)])
        return torch.cat([dense, z[:, li, lj]], dim=1)

    def forward(self, dense, indices, offsets, clicks):
        sparse = [bag(indices[k], offsets[k]) for k, bag in enumerate(self.bags)]
        p = self.top(self.interact(self.bottom(dense), sparse))
        return torch.clamp(p, min=1e-4, max=1 - 1e-4)


def loss(p, dense, indices, offsets, clicks):
    return nn.BCELoss(reduction="mean")(p, clicks)


def batch(n, each=3):
    indices = torch.stack([torch.randint(rows, (n * each,)) for rows in ROWS])
    offsets = torch.arange(0, n * each, each).repeat(len(ROWS), 1)
    return torch.rand(n, DENSE), indices, offsets, torch.randint(0, 2, (n, 1)).float()


def build():
    return DLRM(), batch(8), loss


def sizes():
    return [batch(4), batch(12), batch(6, 5)]
