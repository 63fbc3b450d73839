"""A variational autoencoder (Kingma and Welling 2013): the noise comes in, so that the reparametrised sample is known."""

import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, pixels=64, hidden=32, latent=6):
        super().__init__()
        self.fc1 = nn.Linear(pixels, hidden)
        self.fc21, self.fc22 = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.fc3, self.fc4 = nn.Linear(latent, hidden), nn.Linear(hidden, pixels)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar, noise):
        std = torch.exp(0.5 * logvar)
        return mu + noise * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x, noise):
        mu, logvar = self.encode(x.view(x.shape[0], -1))
        return self.decode(self.reparameterize(mu, logvar, noise)), mu, logvar


def loss(out, x, noise):
    recon, mu, logvar = out
    bce = F.binary_cross_entropy(recon, x.view(x.size(0), -1), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / x.size(0)


def batch(n):
    return torch.rand(n, 1, 8, 8), torch.randn(n, 6)


def build():
    return VAE(), batch(8), loss


def sizes():
    return [batch(4), batch(13), batch(1)]
