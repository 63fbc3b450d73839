"""EfficientNet-like (Tan and Le 2019): MBConv with squeeze and excitation, SiLU, stochastic depth with the draws given as input."""

import torch
import torch.nn.functional as F
from torch import nn


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        scale = F.adaptive_avg_pool2d(x, 1)
        return torch.sigmoid(self.fc2(F.silu(self.fc1(scale), inplace=True))) * x


class MBConv(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride, expand):
        super().__init__()
        hidden = inputs * expand
        self.expand = nn.Sequential()
        if expand != 1:
            self.expand.add_module("conv", nn.Conv2d(inputs, hidden, 1, bias=False))
            self.expand.add_module("bn", nn.BatchNorm2d(hidden, eps=1e-3))
            self.expand.add_module("act", nn.SiLU(inplace=True))
        self.depthwise = nn.Sequential(
            nn.Conv2d(hidden, hidden, kernel, stride, kernel // 2, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden, eps=1e-3),
            nn.SiLU(inplace=True),
        )
        self.excite = SqueezeExcitation(hidden, max(1, inputs // 4))
        self.project = nn.Sequential(nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs, eps=1e-3))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x, keep):
        out = self.project(self.excite(self.depthwise(self.expand(x))))
        if not self.residual:
            return out
        if self.training:
            out = out * (keep.view(-1, 1, 1, 1) / 0.8)
        return out + x


class EfficientNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.SiLU())
        self.blocks = nn.ModuleList([MBConv(8, 8, 3, 1, 1), MBConv(8, 12, 5, 2, 4), MBConv(12, 12, 3, 1, 4)])
        self.head = nn.Sequential(nn.Conv2d(12, 24, 1, bias=False), nn.BatchNorm2d(24), nn.SiLU())
        self.classifier = nn.Linear(24, classes)

    def forward(self, images, keep, labels):
        x = self.stem(images)
        for i, block in enumerate(self.blocks):
            x = block(x, keep[i])
        return self.classifier(F.adaptive_avg_pool2d(self.head(x), 1).flatten(1))


def loss(logits, images, keep, labels):
    target = F.one_hot(labels, logits.shape[-1]).float() * 0.9 + 0.1 / logits.shape[-1]
    return -(target * F.log_softmax(logits, -1)).sum(-1).mean()


def batch(n, side):
    return torch.randn(n, 3, side, side), (torch.rand(3, n) < 0.8).float(), torch.randint(0, 5, (n,))


def build():
    return EfficientNet(), batch(4, 16), loss


def sizes():
    return [batch(3, 16), batch(4, 24), batch(2, 32)]
