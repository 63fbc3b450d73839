"""Windowed attention in the manner of Swin (Liu et al. 2021): shifted windows by roll, relative position table, patch merging."""

import torch
import torch.nn.functional as F
from torch import nn

WINDOW, WIDTH, CLASSES = 4, 16, 7


def windows(x):
    """(n, h, w, c) -> (n * windows, WINDOW * WINDOW, c)"""
    n, h, w, c = x.shape
    x = x.view(n, h // WINDOW, WINDOW, w // WINDOW, WINDOW, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, WINDOW * WINDOW, c)


def whole(x, h, w):
    """The inverse of windows()."""
    n = x.shape[0] // (h * w // WINDOW**2)
    x = x.view(n, h // WINDOW, w // WINDOW, WINDOW, WINDOW, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, -1)


class WindowAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.table = nn.Parameter(torch.zeros((2 * WINDOW - 1) ** 2, heads))
        nn.init.trunc_normal_(self.table, std=0.02)
        at = torch.stack(torch.meshgrid(torch.arange(WINDOW), torch.arange(WINDOW), indexing="ij")).flatten(1)
        relative = (at[:, :, None] - at[:, None, :]).permute(1, 2, 0) + (WINDOW - 1)
        relative[:, :, 0] *= 2 * WINDOW - 1
        self.register_buffer("index", relative.sum(-1))
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        n, t, c = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q * self.scale) @ k.transpose(-2, -1)
        bias = self.table[self.index.view(-1)].view(t, t, -1).permute(2, 0, 1).contiguous()
        scores = scores + bias.unsqueeze(0)
        if mask is not None:
            count = mask.shape[0]
            scores = scores.view(n // count, count, self.heads, t, t) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.heads, t, t)
        return self.proj((scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(n, t, c))


def shift_mask(h, w, shift):
    """Minus infinity, nearly, between the pixels of a window that were not neighbours before the roll."""
    region = torch.zeros(1, h, w, 1)
    count = 0
    for rows in (slice(0, -WINDOW), slice(-WINDOW, -shift), slice(-shift, None)):
        for columns in (slice(0, -WINDOW), slice(-WINDOW, -shift), slice(-shift, None)):
            region[:, rows, columns, :] = count
            count += 1
    flat = windows(region).squeeze(-1)
    difference = flat.unsqueeze(1) - flat.unsqueeze(2)
    return torch.zeros_like(difference).masked_fill(difference != 0, -100.0)


class SwinBlock(nn.Module):
    def __init__(self, dim, heads, shift):
        super().__init__()
        self.shift = shift
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = WindowAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        _, h, w, _ = x.shape
        y, mask = self.norm1(x), None
        if self.shift:
            y = torch.roll(y, shifts=(-self.shift, -self.shift), dims=(1, 2))
            mask = shift_mask(h, w, self.shift)
        y = whole(self.attention(windows(y), mask), h, w)
        if self.shift:
            y = torch.roll(y, shifts=(self.shift, self.shift), dims=(1, 2))
        x = x + y
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.reduction = nn.LayerNorm(4 * dim), nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x):
        parts = [x[:, i::2, j::2, :] for j in (0, 1) for i in (0, 1)]
        return self.reduction(self.norm(torch.cat(parts, -1)))


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 2, stride=2)
        self.stages = nn.Sequential(
            SwinBlock(WIDTH, 2, 0),
            SwinBlock(WIDTH, 2, WINDOW // 2),
            PatchMerging(WIDTH),
            SwinBlock(2 * WIDTH, 4, 0),
        )
        self.norm, self.head = nn.LayerNorm(2 * WIDTH), nn.Linear(2 * WIDTH, CLASSES)

    def forward(self, images, labels):
        x = self.stages(self.patches(images).permute(0, 2, 3, 1))
        return self.head(self.norm(x).mean(dim=(1, 2)))


def loss(logits, images, labels):
    return F.cross_entropy(logits, labels)


def batch(n, height, width):
    return torch.randn(n, 3, height, width), torch.randint(0, CLASSES, (n,))


def build():
    return Swin(), batch(2, 16, 16), loss


def sizes():
    return [batch(3, 16, 16), batch(2, 32, 16), batch(2, 32, 32)]
