"""A Fourier neural operator in two dimensions (Li et al. 2020): complex parameters, writes into slices of a spectrum."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralConv2d(nn.Module):
    def __init__(self, i, o, m1, m2):
        super().__init__()
        self.o, self.m1, self.m2 = o, m1, m2
        self.scale = 1 / (i * o)
        self.weights1 = nn.Parameter(self.scale * torch.rand(i, o, m1, m2, dtype=torch.cfloat))
        self.weights2 = nn.Parameter(self.scale * torch.rand(i, o, m1, m2, dtype=torch.cfloat))

    def compl_mul2d(self, input, weights):
        return torch.einsum("bixy,ioxy->boxy", input, weights)

    def forward(self, x):
        b = x.shape[0]
        x_ft = torch.fft.rfft2(x)
        out_ft = torch.zeros(b, self.o, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat, device=x.device)
        out_ft[:, :, : self.m1, : self.m2] = self.compl_mul2d(x_ft[:, :, : self.m1, : self.m2], self.weights1)
        out_ft[:, :, -self.m1 :, : self.m2] = self.compl_mul2d(x_ft[:, :, -self.m1 :, : self.m2], self.weights2)
        return torch.fft.irfft2(out_ft, s=(x.size(-2), x.size(-1)))


class FNO(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Linear(3, 4)
        self.conv0 = SpectralConv2d(4, 4, 2, 2)
        self.w0 = nn.Conv2d(4, 4, 1)
        self.norm = nn.InstanceNorm2d(4)
        self.q = nn.Conv2d(4, 1, 1)

    def get_grid(self, shape, device):
        b, sx, sy = shape[0], shape[1], shape[2]
        gridx = torch.tensor(np.linspace(0, 1, sx), dtype=torch.float)
        gridx = gridx.reshape(1, sx, 1, 1).repeat([b, 1, sy, 1])
        gridy = torch.tensor(np.linspace(0, 1, sy), dtype=torch.float)
        gridy = gridy.reshape(1, 1, sy, 1).repeat([b, sx, 1, 1])
        return torch.cat((gridx, gridy), dim=-1).to(device)

    def forward(self, x):
        x = torch.cat((x, self.get_grid(x.shape, x.device)), dim=-1)
        x = self.p(x).permute(0, 3, 1, 2)
        x = F.pad(x, [0, 2, 0, 2])
        x = F.gelu(self.norm(self.conv0(self.norm(x))) + self.w0(x))
        x = x[..., :-2, :-2]
        return self.q(x).permute(0, 2, 3, 1)


def loss(out, x):
    return torch.mean(torch.norm((out - x).reshape(len(x), -1), 2, 1) / torch.norm(x.reshape(len(x), -1), 2, 1))


def batch(b):
    return (torch.randn(b, 6, 6, 1),)


def build():
    return FNO(), batch(2), loss


def sizes():
    return [batch(3), batch(5), batch(4)]
