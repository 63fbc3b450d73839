"""ConvNeXt (Liu et al. 2022): depthwise 7x7, channels-last norm and MLP, layer scale, channels-first norm between the stages."""

import torch
import torch.nn.functional as F
from torch import nn


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class Permute(nn.Module):
    def __init__(self, *dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)


class Block(nn.Module):
    def __init__(self, dim, scale=0.1):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim),
            Permute(0, 2, 3, 1),
            nn.LayerNorm(dim, eps=1e-6),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute(0, 3, 1, 2),
        )
        self.scale = nn.Parameter(torch.ones(dim, 1, 1) * scale)

    def forward(self, x):
        return x + self.scale * self.block(x)


class ConvNeXt(nn.Module):
    def __init__(self, depths=(1, 2), dims=(12, 24), classes=9):
        super().__init__()
        layers = [nn.Conv2d(3, dims[0], kernel_size=2, stride=2), LayerNorm2d(dims[0], eps=1e-6)]
        for i, (depth, dim) in enumerate(zip(depths, dims, strict=True)):
            if i:
                layers += [LayerNorm2d(dims[i - 1], eps=1e-6), nn.Conv2d(dims[i - 1], dim, kernel_size=2, stride=2)]
            layers.append(nn.Sequential(*(Block(dim) for _ in range(depth))))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(LayerNorm2d(dims[-1], eps=1e-6), nn.Flatten(1), nn.Linear(dims[-1], classes))
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.1)
                nn.init.zeros_(module.bias)

    def forward(self, images, labels):
        return self.classifier(self.pool(self.features(images)))


def loss(logits, images, labels):
    return F.cross_entropy(logits, labels)


def batch(n, side):
    return torch.randn(n, 3, side, side), torch.randint(0, 9, (n,))


def build():
    return ConvNeXt(), batch(2, 16), loss


def sizes():
    return [batch(3, 16), batch(2, 24), batch(4, 20)]
