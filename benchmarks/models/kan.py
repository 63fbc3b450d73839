"""A Kolmogorov-Arnold network (Liu et al. 2024): a learnt B-spline on every edge, beside a SiLU base, grid in a buffer."""

import math

import torch
import torch.nn.functional as F


class KANLinear(torch.nn.Module):
    def __init__(self, in_features, out_features, grid_size=4, spline_order=3, grid_range=(-2.0, 2.0)):
        super().__init__()
        self.in_features, self.out_features, self.spline_order = in_features, out_features, spline_order
        h = (grid_range[1] - grid_range[0]) / grid_size
        knots = torch.arange(-spline_order, grid_size + spline_order + 1) * h + grid_range[0]
        self.register_buffer("grid", knots.expand(in_features, -1).contiguous())
        self.base_weight = torch.nn.Parameter(torch.empty(out_features, in_features))
        self.spline_weight = torch.nn.Parameter(torch.empty(out_features, in_features, grid_size + spline_order))
        torch.nn.init.kaiming_uniform_(self.base_weight, a=math.sqrt(5))
        torch.nn.init.normal_(self.spline_weight, std=0.1)

    def bases(self, x):
        """x: (n, inputs). The splines there by the Cox-de Boor recursion: (n, inputs, grid_size + spline_order)."""
        grid, x = self.grid, x.unsqueeze(-1)
        bases = ((x >= grid[:, :-1]) & (x < grid[:, 1:])).to(x.dtype)
        for k in range(1, self.spline_order + 1):
            left = (x - grid[:, : -(k + 1)]) / (grid[:, k:-1] - grid[:, : -(k + 1)]) * bases[:, :, :-1]
            right = (grid[:, k + 1 :] - x) / (grid[:, k + 1 :] - grid[:, 1:-k]) * bases[:, :, 1:]
            bases = left + right
        return bases.contiguous()

    def forward(self, x):
        assert x.dim() == 2 and x.size(1) == self.in_features
        base = F.linear(F.silu(x), self.base_weight)
        return base + F.linear(self.bases(x).view(x.size(0), -1), self.spline_weight.view(self.out_features, -1))


class KAN(torch.nn.Module):
    def __init__(self, widths=(3, 6, 1)):
        super().__init__()
        self.layers = torch.nn.ModuleList(KANLinear(a, b) for a, b in zip(widths, widths[1:], strict=False))

    def forward(self, x, y):
        for layer in self.layers:
            x = layer(x)
        return x

    def regularization(self):
        strength = sum(layer.spline_weight.abs().mean(-1).sum() for layer in self.layers)
        return strength


def loss(out, x, y):
    return F.huber_loss(out, y, delta=0.5) + 1e-3 * out.abs().sum()


def batch(n):
    x = torch.rand(n, 3) * 3.6 - 1.8
    return x, torch.exp(torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:])


def build():
    return KAN(), batch(16), loss


def sizes():
    return [batch(8), batch(21), batch(33)]
