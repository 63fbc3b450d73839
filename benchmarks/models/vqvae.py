"""VQ-VAE (van den Oord et al. 2017): nearest codes, straight-through gradient, codebook and commitment losses, perplexity."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantizer(nn.Module):
    def __init__(self, codes=16, dim=8, cost=0.25):
        super().__init__()
        self.codes, self.cost = codes, cost
        self.embedding = nn.Embedding(codes, dim)
        self.embedding.weight.data.uniform_(-0.5, 0.5)

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        w = self.embedding.weight
        distances = (flat**2).sum(1, keepdim=True) + (w**2).sum(1) - 2 * torch.matmul(flat, w.t())
        index = torch.argmin(distances, dim=1).unsqueeze(1)
        onehot = torch.zeros(index.shape[0], self.codes, device=z.device)
        onehot.scatter_(1, index, 1)
        quantized = torch.matmul(onehot, w).view(z.shape)
        commitment = F.mse_loss(quantized.detach(), z)
        loss = F.mse_loss(quantized, z.detach()) + self.cost * commitment
        quantized = z + (quantized - z).detach()
        usage = torch.mean(onehot, dim=0)
        perplexity = torch.exp(-torch.sum(usage * torch.log(usage + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity, index


class VQVAE(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 12, 4, 2, 1), nn.ReLU(), nn.Conv2d(12, dim, 3, padding=1))
        self.quantizer = Quantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Conv2d(dim, 12, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(12, 1, 4, 2, 1))

    def forward(self, images):
        vq, quantized, perplexity, index = self.quantizer(self.encoder(images))
        return self.decoder(quantized), vq, perplexity, index


def loss(out, images):
    recon, vq, _, _ = out
    return F.mse_loss(recon, images) / images.var() + vq


def batch(n, side):
    return (torch.rand(n, 1, side, side),)


def build():
    return VQVAE(), batch(4, 8), loss


def sizes():
    return [batch(2, 8), batch(3, 12), batch(5, 10)]
