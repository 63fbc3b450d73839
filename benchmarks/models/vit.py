"""A vision transformer (Dosovitskiy et al. 2020): patches by a strided convolution, a class token, nn.MultiheadAttention."""

from collections import OrderedDict

import torch
from torch import nn

PATCH, WIDTH, HEADS, LAYERS, CLASSES = 4, 32, 4, 2, 10


class MLP(nn.Sequential):
    def __init__(self, width, hidden):
        super().__init__(
            OrderedDict(up=nn.Linear(width, hidden), gelu=nn.GELU(), down=nn.Linear(hidden, width), drop=nn.Dropout(0.0))
        )


class EncoderBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH, eps=1e-6)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.ln_2 = nn.LayerNorm(WIDTH, eps=1e-6)
        self.mlp = MLP(WIDTH, 2 * WIDTH)

    def forward(self, x):
        y = self.ln_1(x)
        y, _ = self.attention(y, y, y, need_weights=False)
        x = x + y
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    def __init__(self, image=16):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, kernel_size=PATCH, stride=PATCH)
        self.class_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.empty(1, (image // PATCH) ** 2 + 1, WIDTH).normal_(std=0.02))
        self.blocks = nn.Sequential(*[EncoderBlock() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6)
        self.head = nn.Linear(WIDTH, CLASSES)
        nn.init.trunc_normal_(self.patches.weight, std=0.1)

    def resized(self, height, width):
        """The learnt positions for an image of another size, by bicubic interpolation."""
        side = int((self.positions.shape[1] - 1) ** 0.5)
        if (height, width) == (side, side):
            return self.positions
        grid = self.positions[:, 1:].reshape(1, side, side, WIDTH).permute(0, 3, 1, 2)
        grid = nn.functional.interpolate(grid, size=(height, width), mode="bicubic", align_corners=False)
        return torch.cat([self.positions[:, :1], grid.permute(0, 2, 3, 1).flatten(1, 2)], dim=1)

    def forward(self, images, labels):
        x = self.patches(images)
        n, _, h, w = x.shape
        x = torch.cat([self.class_token.expand(n, -1, -1), x.flatten(2).transpose(1, 2)], dim=1)
        return self.head(self.norm(self.blocks(x + self.resized(h, w)))[:, 0])


def loss(logits, images, labels):
    return nn.functional.cross_entropy(logits, labels)


def batch(n, side):
    return torch.randn(n, 3, side, side), torch.randint(0, CLASSES, (n,))


def build():
    return ViT(), batch(4, 16), loss


def sizes():
    return [batch(2, 16), batch(5, 16), batch(3, 24)]
