"""Pose estimation by heat maps (Newell et al. 2016): an hourglass, soft-argmax of the maps, intermediate supervision."""

import torch
import torch.nn as nn
import torch.nn.functional as F

JOINTS = 5


class Residual(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm2d(inputs),
            nn.ReLU(),
            nn.Conv2d(inputs, outputs // 2, 1),
            nn.ELU(),
            nn.Conv2d(outputs // 2, outputs, 3, padding=1),
        )
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        return self.body(x) + self.skip(x)


class Hourglass(nn.Module):
    def __init__(self, depth, channels):
        super().__init__()
        self.up, self.low1, self.low3 = (Residual(channels, channels) for _ in range(3))
        self.low2 = Hourglass(depth - 1, channels) if depth > 1 else Residual(channels, channels)

    def forward(self, x):
        low = self.low3(self.low2(self.low1(F.max_pool2d(x, 2, stride=2))))
        return self.up(x) + F.interpolate(low, scale_factor=2)


def soft_argmax(maps):
    """maps: (n, joints, h, w). The expected (x, y) in [0, 1] of each map."""
    n, joints, h, w = maps.shape
    p = F.softmax(maps.reshape(n, joints, -1), dim=-1).view(n, joints, h, w)
    x = (p.sum(2) * torch.linspace(0, 1, w)).sum(-1)
    y = (p.sum(3) * torch.linspace(0, 1, h)).sum(-1)
    return torch.stack((x, y), -1)


class Pose(nn.Module):
    def __init__(self, stacks=2, channels=8):
        super().__init__()
        self.pre = nn.Conv2d(3, channels, 7, 2, 3)
        self.stacks = nn.ModuleList([nn.Sequential(Hourglass(2, channels), Residual(channels, channels)) for _ in range(stacks)])
        self.outs = nn.ModuleList([nn.Conv2d(channels, JOINTS, 1) for _ in range(stacks)])
        self.merge = nn.ModuleList([nn.Conv2d(JOINTS, channels, 1) for _ in range(stacks - 1)])

    def forward(self, images, joints, visible):
        x = self.pre(images)
        maps = []
        for i, stack in enumerate(self.stacks):
            y = stack(x)
            maps.append(self.outs[i](y))
            if i < len(self.merge):
                x = x + y + self.merge[i](maps[-1])
        return torch.stack(maps, 1), soft_argmax(maps[-1])


def loss(out, images, joints, visible):
    maps, points = out
    h, w = maps.shape[-2:]
    ys, xs = torch.meshgrid(torch.linspace(0, 1, h), torch.linspace(0, 1, w), indexing="ij")
    target = torch.exp(-((xs - joints[..., 0, None, None]) ** 2 + (ys - joints[..., 1, None, None]) ** 2) / 0.02)
    every = (maps - target[:, None]).square().mean(dim=(-1, -2))
    seen = visible[:, None].expand_as(every).float()
    return (every * seen).sum() / seen.sum() + F.l1_loss(points * visible[..., None], joints * visible[..., None])


def batch(n, side):
    visible = torch.rand(n, JOINTS) < 0.8
    visible[0, 0] = True
    return torch.randn(n, 3, side, side), torch.rand(n, JOINTS, 2), visible


def build():
    return Pose(), batch(2, 16), loss


def sizes():
    return [batch(3, 16), batch(2, 24), batch(4, 32)]
