"""A radiance field (Mildenhall et al. 2020): positional encoding, a skip MLP, volume rendering along rays by cumprod."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def encode(x, bands):
    encoded = [x]
    for i in range(bands):
        for fn in [torch.sin, torch.cos]:
            encoded.append(fn(2.0**i * x))
    return torch.cat(encoded, dim=-1)


class NeRF(nn.Module):
    def __init__(self, width=24, point_bands=3, view_bands=2, near=2.0, far=6.0, samples=8):
        super().__init__()
        self.bands, self.bounds, self.samples = (point_bands, view_bands), (near, far), samples
        points, views = 3 + 6 * point_bands, 3 + 6 * view_bands
        self.pts_linears = nn.ModuleList([nn.Linear(points, width), nn.Linear(width, width), nn.Linear(width + points, width)])
        self.skips = [1]
        self.alpha, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
        self.views, self.rgb = nn.Linear(width + views, width // 2), nn.Linear(width // 2, 3)

    def field(self, points, directions):
        x = encode(points, self.bands[0])
        h = x
        for i, linear in enumerate(self.pts_linears):
            h = F.relu(linear(h))
            if i in self.skips:
                h = torch.cat([x, h], -1)
        alpha, feature = self.alpha(h), self.feature(h)
        h = F.relu(self.views(torch.cat([feature, encode(directions, self.bands[1])], -1)))
        return torch.sigmoid(self.rgb(h)), F.relu(alpha[..., 0] + 0.5)

    def forward(self, origins, directions, jitter, colours):
        near, far = self.bounds
        t = torch.linspace(near, far, self.samples)
        t = t + jitter * (far - near) / self.samples
        points = origins[..., None, :] + directions[..., None, :] * t[..., :, None]
        unit = directions / torch.norm(directions, dim=-1, keepdim=True)
        rgb, sigma = self.field(points, unit[:, None].expand(points.shape))
        gaps = torch.cat([t[..., 1:] - t[..., :-1], torch.full_like(t[..., :1], 1e10)], -1)
        gaps = gaps * torch.norm(directions[..., None, :], dim=-1)
        alpha = 1.0 - torch.exp(-sigma * gaps)
        through = torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
        weights = alpha * through
        return (weights[..., None] * rgb).sum(-2), (weights * t).sum(-1)


def loss(out, origins, directions, jitter, colours):
    mse = torch.mean((out[0] - colours) ** 2)
    return mse - 0.01 * torch.log10(mse + 1e-8)


def batch(n):
    return torch.randn(n, 3) * 0.1, torch.randn(n, 3), torch.rand(n, 8), torch.rand(n, 3)


def build():
    return NeRF(), batch(16), loss


def sizes():
    return [batch(8), batch(25), batch(10)]
