"""WaveNet (van den Oord et al. 2016): dilated causal convolutions, gated, with residual and skip paths; mu-law classes."""

import torch
import torch.nn.functional as F
from torch import nn

LEVELS = 16


def mu_law(x, levels=LEVELS):
    mu = torch.tensor(levels - 1, dtype=x.dtype)
    y = torch.sign(x) * torch.log1p(mu * torch.abs(x)) / torch.log1p(mu)
    return ((y + 1) / 2 * mu + 0.5).to(torch.int64)


class CausalConv1d(nn.Conv1d):
    def forward(self, x):
        return super().forward(F.pad(x, ((self.kernel_size[0] - 1) * self.dilation[0], 0)))


class GatedBlock(nn.Module):
    def __init__(self, channels, skips, dilation):
        super().__init__()
        self.filter = CausalConv1d(channels, channels, 2, dilation=dilation)
        self.gate = CausalConv1d(channels, channels, 2, dilation=dilation)
        self.residual, self.skip = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, skips, 1)

    def forward(self, x):
        y = torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))
        return x + self.residual(y), self.skip(y)


class WaveNet(nn.Module):
    def __init__(self, channels=12, skips=16, dilations=(1, 2, 4, 8)):
        super().__init__()
        self.start = CausalConv1d(LEVELS, channels, 2)
        self.blocks = nn.ModuleList([GatedBlock(channels, skips, d) for d in dilations])
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(skips, skips, 1), nn.ReLU(), nn.Conv1d(skips, LEVELS, 1))

    def forward(self, wave):
        x = self.start(F.one_hot(mu_law(wave), LEVELS).float().transpose(1, 2))
        skips = []
        for block in self.blocks:
            x, skip = block(x)
            skips.append(skip)
        return self.end(sum(skips))


def loss(logits, wave):
    return F.cross_entropy(logits[:, :, :-1], mu_law(wave)[:, 1:])


def batch(n, t):
    return (torch.rand(n, t) * 1.9 - 0.95,)


def build():
    return WaveNet(), batch(3, 40), loss


def sizes():
    return [batch(2, 40), batch(3, 61), batch(4, 33)]
