"""Optical flow by all pairs of features, refined by steps (Teed & Deng 2020)."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def bilinear_sampler(img, coords, mode="bilinear", mask=False):
    H, W = img.shape[-2:]
    xgrid, ygrid = coords.split([1, 1], dim=-1)
    xgrid = 2 * xgrid / (W - 1) - 1
    ygrid = 2 * ygrid / (H - 1) - 1
    grid = torch.cat([xgrid, ygrid], dim=-1)
    return F.grid_sample(img, grid, align_corners=True)


def coords_grid(batch, ht, wd, device=None):
    coords = torch.meshgrid(torch.arange(ht, device=device), torch.arange(wd, device=device))
    coords = torch.stack(coords[::-1], dim=0).float()
    return coords[None].repeat(batch, 1, 1, 1)


class CorrBlock:
    def __init__(self, fmap1, fmap2, num_levels=2, radius=1):
        self.num_levels, self.radius = num_levels, radius
        self.corr_pyramid = []
        corr = CorrBlock.corr(fmap1, fmap2)
        batch, h1, w1, dim, h2, w2 = corr.shape
        corr = corr.reshape(batch * h1 * w1, dim, h2, w2)
        self.corr_pyramid.append(corr)
        for _ in range(self.num_levels - 1):
            corr = F.avg_pool2d(corr, 2, stride=2)
            self.corr_pyramid.append(corr)

    def __call__(self, coords):
        r = self.radius
        coords = coords.permute(0, 2, 3, 1)
        batch, h1, w1, _ = coords.shape
        out = []
        for i in range(self.num_levels):
            dx = torch.linspace(-r, r, 2 * r + 1)
            dy = torch.linspace(-r, r, 2 * r + 1)
            delta = torch.stack(torch.meshgrid(dy, dx), axis=-1)
            centroid = coords.reshape(batch * h1 * w1, 1, 1, 2) / 2**i
            out.append(
                bilinear_sampler(self.corr_pyramid[i], centroid + delta.view(1, 2 * r + 1, 2 * r + 1, 2)).view(batch, h1, w1, -1)
            )
        return torch.cat(out, dim=-1).permute(0, 3, 1, 2).contiguous().float()

    @staticmethod
    def corr(fmap1, fmap2):
        batch, dim, ht, wd = fmap1.shape
        corr = torch.matmul(fmap1.view(batch, dim, ht * wd).transpose(1, 2), fmap2.view(batch, dim, ht * wd))
        return corr.view(batch, ht, wd, 1, ht, wd) / torch.sqrt(torch.tensor(dim).float())


class RAFT(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.InstanceNorm2d(4))
        self.convz = nn.Conv2d(4 + 20, 4, (1, 3), padding=(0, 1))
        self.convq = nn.Conv2d(4 + 20, 4, (3, 1), padding=(1, 0))
        self.flow = nn.Conv2d(4, 2, 3, padding=1)
        self.mask = nn.Conv2d(4, 4 * 9, 1)

    def forward(self, a, b):
        f1, f2 = self.f(a), self.f(b)
        cf = CorrBlock(f1, f2)
        N, _, H, W = f1.shape
        c0 = coords_grid(N, H, W)
        c1 = coords_grid(N, H, W)
        net = torch.tanh(f1)
        preds = []
        for _ in range(2):
            c1 = c1.detach()
            corr = cf(c1)
            x = torch.cat([net, corr, c1 - c0], 1)
            z = torch.sigmoid(self.convz(x))
            net = (1 - z) * net + z * torch.tanh(self.convq(x))
            c1 = c1 + self.flow(net)
            flow = c1 - c0
            mask = self.mask(net).view(N, 1, 9, 2, 2, H, W)
            mask = torch.softmax(mask, dim=2)
            up = F.unfold(2 * flow, [3, 3], padding=1)
            up = up.view(N, 2, 9, 1, 1, H, W)
            up = torch.sum(mask * up, dim=2)
            up = up.permute(0, 1, 4, 2, 5, 3)
            preds.append(up.reshape(N, 2, 2 * H, 2 * W))
        return preds


def loss(out, a, b):
    return sum(0.8 ** (1 - i) * (p - 1).abs().mean() for i, p in enumerate(out))


def batch(b):
    return torch.randn(b, 3, 8, 8), torch.randn(b, 3, 8, 8)


def build():
    return RAFT(), batch(1), loss


def sizes():
    return [batch(2), batch(4), batch(3)]
