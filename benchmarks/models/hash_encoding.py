"""A field over space whose grids of several resolutions lie in hashed tables (Müller et al. 2022, "instant NGP")."""

import torch
import torch.nn.functional as F


class HashEncoding(torch.nn.Module):
    def __init__(self, levels=3, log2_size=6, features=2, coarsest=4, growth=1.5):
        super().__init__()
        self.size = 2**log2_size
        self.resolutions = [int(coarsest * growth**level) for level in range(levels)]
        self.tables = torch.nn.Parameter(torch.empty(levels, self.size, features).uniform_(-1e-1, 1e-1))
        self.register_buffer("primes", torch.tensor([1, 2654435761, 805459861]))
        self.register_buffer("corners", torch.tensor([[(i >> k) & 1 for k in range(3)] for i in range(8)]))

    def forward(self, x):
        found = []
        for level, resolution in enumerate(self.resolutions):
            scaled = x * resolution
            low = torch.floor(scaled).long()
            weight = (scaled - low).unsqueeze(1)
            mixed = (low.unsqueeze(1) + self.corners) * self.primes
            index = (mixed[..., 0] ^ mixed[..., 1] ^ mixed[..., 2]) % self.size
            share = torch.where(self.corners.bool(), weight, 1 - weight).prod(-1, keepdim=True)
            found.append((self.tables[level][index] * share).sum(1))
        return torch.cat(found, dim=-1)


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoding = HashEncoding()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, 4, bias=False)
        )

    def forward(self, x, wanted):
        density, colour = self.net(self.encoding(x)).split([1, 3], dim=-1)
        return F.softplus(density - 1), torch.sigmoid(colour)


def loss(out, x, wanted):
    density, colour = out
    return F.mse_loss(colour, wanted) + 1e-2 * torch.log1p(density).mean()


def batch(n):
    x = torch.rand(n, 3)
    return x, torch.stack([x[:, 0] * x[:, 1], x[:, 2] ** 2, 1 - x[:, 0]], dim=1)


def build():
    return Field(), batch(24), loss


def sizes():
    return [batch(8), batch(17), batch(40)]
