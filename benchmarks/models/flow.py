"""A normalising flow in the manner of RealNVP (Dinh et al. 2016): affine couplings, activation norm, a MultivariateNormal base."""

import torch
from torch import nn
from torch.distributions import MultivariateNormal

DIM = 4


class ActNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_scale, self.shift = nn.Parameter(torch.zeros(DIM)), nn.Parameter(torch.zeros(DIM))

    def forward(self, x):
        return x * self.log_scale.exp() + self.shift, self.log_scale.sum().expand(x.shape[0])

    def inverse(self, z):
        return (z - self.shift) * torch.exp(-self.log_scale)


class AffineCoupling(nn.Module):
    def __init__(self, mask, hidden=16):
        super().__init__()
        self.register_buffer("mask", mask)
        self.scale = nn.Sequential(nn.Linear(DIM, hidden), nn.LeakyReLU(), nn.Linear(hidden, DIM), nn.Tanh())
        self.translate = nn.Sequential(nn.Linear(DIM, hidden), nn.LeakyReLU(), nn.Linear(hidden, DIM))

    def parts(self, kept):
        return self.scale(kept) * (1 - self.mask), self.translate(kept) * (1 - self.mask)

    def forward(self, x):
        kept = x * self.mask
        s, t = self.parts(kept)
        return kept + (1 - self.mask) * (x * torch.exp(s) + t), s.sum(dim=1)

    def inverse(self, z):
        kept = z * self.mask
        s, t = self.parts(kept)
        return kept + (1 - self.mask) * (z - t) * torch.exp(-s)


class Flow(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(layers):
            mask = (torch.arange(DIM) % 2 == i % 2).float()
            self.layers.extend([ActNorm(), AffineCoupling(mask)])
        self.register_buffer("mean", torch.zeros(DIM))
        self.register_buffer("covariance", torch.eye(DIM))

    def forward(self, x):
        """The log density of x, and x again from its code."""
        z, log_det = x, x.new_zeros(x.shape[0])
        for layer in self.layers:
            z, step = layer(z)
            log_det += step
        density = MultivariateNormal(self.mean, self.covariance).log_prob(z) + log_det
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return density, z


def loss(out, x):
    return -out[0].mean()


def batch(n):
    return (torch.randn(n, DIM),)


def build():
    return Flow(), batch(12), loss


def sizes():
    return [batch(5), batch(20), batch(9)]
