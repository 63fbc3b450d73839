"""A temporal convolutional network (Bai et al. 2018): weight-normalised dilated convolutions, chomped to be causal."""

import torch
import torch.nn as nn
from torch.nn.utils import weight_norm


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, : -self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, inputs, outputs, kernel, dilation, dropout=0.0):
        super().__init__()
        padding = (kernel - 1) * dilation
        layers = []
        for a in (inputs, outputs):
            layers += [weight_norm(nn.Conv1d(a, outputs, kernel, padding=padding, dilation=dilation)), Chomp1d(padding)]
            layers += [nn.ReLU(), nn.Dropout(dropout)]
        self.net = nn.Sequential(*layers)
        self.downsample = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else None
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.net(x) + (x if self.downsample is None else self.downsample(x)))


class TCN(nn.Module):
    def __init__(self, inputs=2, channels=(8, 8, 12), classes=4):
        super().__init__()
        every = (inputs, *channels)
        blocks = [TemporalBlock(every[i], every[i + 1], 3, 2**i) for i in range(len(channels))]
        self.network, self.linear = nn.Sequential(*blocks), nn.Linear(channels[-1], classes)

    def forward(self, series, targets):
        return self.linear(self.network(series).transpose(1, 2))


def loss(out, series, targets):
    return nn.SmoothL1Loss()(out, targets)


def batch(n, t):
    return torch.randn(n, 2, t), torch.randn(n, t, 4)


def build():
    return TCN(), batch(3, 30), loss


def sizes():
    return [batch(2, 30), batch(3, 41), batch(5, 22)]
