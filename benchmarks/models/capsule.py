"""Capsules with routing by agreement (Sabour et al. 2017), written in the manner of 2018, with a decoder of the longest."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvLayer(nn.Module):
    def __init__(self, in_channels=1, out_channels=16, kernel_size=5):
        super().__init__()
        self.conv = nn.Conv2d(in_channels=in_channels, out_channels=out_channels, kernel_size=kernel_size, stride=1)

    def forward(self, x):
        return F.relu(self.conv(x), inplace=True)


class PrimaryCaps(nn.Module):
    def __init__(self, num_capsules=4, in_channels=16, out_channels=4, kernel_size=5):
        super().__init__()
        self.capsules = nn.ModuleList(
            [nn.Conv2d(in_channels, out_channels, kernel_size, stride=2, padding=0) for _ in range(num_capsules)]
        )

    def forward(self, x):
        u = [capsule(x) for capsule in self.capsules]
        u = torch.stack(u, dim=1)
        u = u.view(x.size(0), -1, len(self.capsules))
        return self.squash(u)

    def squash(self, input_tensor):
        squared_norm = (input_tensor**2).sum(-1, keepdim=True)
        return squared_norm * input_tensor / ((1.0 + squared_norm) * torch.sqrt(squared_norm))


class DigitCaps(nn.Module):
    def __init__(self, num_capsules=5, num_routes=4 * 2 * 2, in_channels=4, out_channels=6):
        super().__init__()
        self.num_routes, self.num_capsules = num_routes, num_capsules
        self.W = nn.Parameter(torch.randn(1, num_routes, num_capsules, out_channels, in_channels))

    def forward(self, x):
        batch_size = x.size(0)
        x = torch.stack([x] * self.num_capsules, dim=2).unsqueeze(4)
        W = torch.cat([self.W] * batch_size, dim=0)
        u_hat = torch.matmul(W, x)
        b_ij = torch.zeros(1, self.num_routes, self.num_capsules, 1)
        num_iterations = 3
        for iteration in range(num_iterations):
            c_ij = F.softmax(b_ij, dim=1)
            c_ij = torch.cat([c_ij] * batch_size, dim=0).unsqueeze(4)
            s_j = (c_ij * u_hat).sum(dim=1, keepdim=True)
            v_j = self.squash(s_j)
            if iteration < num_iterations - 1:
                a_ij = torch.matmul(u_hat.transpose(3, 4), torch.cat([v_j] * self.num_routes, dim=1))
                b_ij = b_ij + a_ij.squeeze(4).mean(dim=0, keepdim=True)
        return v_j.squeeze(1)

    squash = PrimaryCaps.squash


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.reconstraction_layers = nn.Sequential(nn.Linear(6 * 5, 32), nn.ReLU(inplace=True), nn.Linear(32, 144), nn.Sigmoid())

    def forward(self, x, data):
        classes = torch.sqrt((x**2).sum(2))
        classes = F.softmax(classes, dim=0)
        _, max_length_indices = classes.max(dim=1)
        masked = torch.eye(5)
        masked = masked.index_select(dim=0, index=max_length_indices.squeeze(1).data)
        reconstructions = self.reconstraction_layers((x * masked[:, :, None, None]).view(x.size(0), -1))
        return reconstructions.view(-1, 1, 12, 12), masked


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_layer = ConvLayer()
        self.primary_capsules = PrimaryCaps()
        self.digit_capsules = DigitCaps()
        self.decoder = Decoder()
        self.mse_loss = nn.MSELoss()

    def forward(self, data, target):
        output = self.digit_capsules(self.primary_capsules(self.conv_layer(data)))
        reconstructions, masked = self.decoder(output, data)
        return output, reconstructions, masked

    def margin_loss(self, x, labels, size_average=True):
        batch_size = x.size(0)
        v_c = torch.sqrt((x**2).sum(dim=2, keepdim=True))
        left = F.relu(0.9 - v_c).view(batch_size, -1)
        right = F.relu(v_c - 0.1).view(batch_size, -1)
        loss = labels * left + 0.5 * (1.0 - labels) * right
        return loss.sum(dim=1).mean()


def loss(out, data, target):
    m = CapsNet.margin_loss(None, out[0], target)
    return m + 0.05 * F.mse_loss(out[1].view(out[1].size(0), -1), data.view(out[1].size(0), -1))


def batch(b):
    return torch.rand(b, 1, 12, 12), F.one_hot(torch.randint(0, 5, (b,)), 5).float()


def build():
    return CapsNet(), batch(3), loss


def sizes():
    return [batch(2), batch(5), batch(4)]
