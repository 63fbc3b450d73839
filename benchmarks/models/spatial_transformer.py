"""A spatial transformer (Jaderberg et al. 2015), with the corners and names of old."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class STN(nn.Module):
    def __init__(self):
        super().__init__()
        self.localization = nn.Sequential(nn.Conv2d(1, 4, kernel_size=3), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.fc_loc = nn.Sequential(nn.Linear(4 * 9, 8), nn.ReLU(True), nn.Linear(8, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
        self.conv2_drop = nn.Dropout2d(0.0)

    def forward(self, x):
        xs = self.localization(x)
        xs = xs.view(-1, 36)
        theta = self.fc_loc(xs)
        theta = theta.view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size())
        x = F.grid_sample(x, grid, padding_mode="reflection", mode="bicubic")
        up = F.upsample(x, scale_factor=2, mode="bilinear")
        return F.relu(F.max_pool2d(self.conv2_drop(up), 2)), theta


def loss(out, x):
    return out[0].pow(2).mean() + (out[1] ** 2).sum() * 0.1


def batch(b):
    return (torch.randn(b, 1, 8, 8),)


def build():
    return STN(), batch(2), loss


def sizes():
    return [batch(3), batch(5), batch(4)]
