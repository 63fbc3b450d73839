"""A denoising diffusion model (Ho et al. 2020): noise prediction with time embeddings, and the ancestral sampler under no_grad."""

import math

import torch
import torch.nn.functional as F
from torch import nn

STEPS = 20


def time_embedding(t, dim):
    half = dim // 2
    frequencies = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / (half - 1))
    angles = t.float()[:, None] * frequencies[None]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class ResBlock(nn.Module):
    def __init__(self, channels, time_dim):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(2, channels), nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(time_dim, 2 * channels)
        self.norm2, self.conv2 = nn.GroupNorm(2, channels), nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x, t):
        h = self.conv1(F.silu(self.norm1(x)))
        scale, shift = self.time(F.silu(t))[:, :, None, None].chunk(2, dim=1)
        return x + self.conv2(F.silu(self.norm2(h) * (1 + scale) + shift))


class Denoiser(nn.Module):
    def __init__(self, channels=8, time_dim=16):
        super().__init__()
        self.time_dim = time_dim
        self.time_mlp = nn.Sequential(nn.Linear(time_dim, time_dim), nn.SiLU(), nn.Linear(time_dim, time_dim))
        self.inc, self.down = nn.Conv2d(1, channels, 3, padding=1), nn.Conv2d(channels, channels, 3, 2, 1)
        self.block1, self.block2 = ResBlock(channels, time_dim), ResBlock(channels, time_dim)
        self.out = nn.Conv2d(2 * channels, 1, 3, padding=1)

    def forward(self, x, t):
        t = self.time_mlp(time_embedding(t, self.time_dim))
        x = self.block1(self.inc(x), t)
        y = F.interpolate(self.block2(self.down(x), t), scale_factor=2, mode="nearest")
        return self.out(torch.cat([x, y], 1))


class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.denoiser = Denoiser()
        betas = torch.linspace(1e-3, 0.1, STEPS)
        self.register_buffer("betas", betas)
        self.register_buffer("alphas_bar", torch.cumprod(1.0 - betas, dim=0))

    def forward(self, x, t, noise, draws):
        ab = self.alphas_bar[t].view(-1, 1, 1, 1)
        predicted = self.denoiser(ab.sqrt() * x + (1 - ab).sqrt() * noise, t)
        return predicted, self.sample(draws)

    @torch.no_grad()
    def sample(self, draws):
        """draws: (steps + 1, n, 1, h, w), the noise of the start and of every step of the last few."""
        x = draws[0]
        for i in reversed(range(len(draws) - 1)):
            t = torch.full((x.shape[0],), i, dtype=torch.long)
            beta, ab = self.betas[i], self.alphas_bar[i]
            mean = (x - beta / (1 - ab).sqrt() * self.denoiser(x, t)) / (1 - beta).sqrt()
            x = mean + beta.sqrt() * draws[i + 1] if i > 0 else mean
        return x.clamp(-3, 3)


def loss(out, x, t, noise, draws):
    return F.mse_loss(out[0], noise)


def batch(n, side):
    x, noise = torch.randn(2, n, 1, side, side).unbind(0)
    return x.clone(), torch.randint(0, STEPS, (n,)), noise.clone(), torch.randn(4, 2, 1, side, side)


def build():
    return Diffusion(), batch(4, 8), loss


def sizes():
    return [batch(2, 8), batch(3, 12), batch(5, 16)]
