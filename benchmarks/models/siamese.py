"""A siamese embedding with a triplet loss (Schroff et al. 2015): one tower, semi-hard mining, normalised embeddings."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.convnet = nn.Sequential(
            nn.Conv2d(1, 6, 5), nn.PReLU(), nn.MaxPool2d(2, stride=2), nn.Conv2d(6, 8, 3), nn.PReLU(), nn.AdaptiveMaxPool2d(2)
        )
        self.fc = nn.Linear(32, dim)

    def forward(self, x):
        return F.normalize(self.fc(self.convnet(x).flatten(1)), p=2, dim=1)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = Tower()

    def forward(self, anchor, positive, negative):
        return tuple(self.tower(x) for x in (anchor, positive, negative))


def loss(out, *inputs):
    anchor, positive, negative = out
    triplet = nn.TripletMarginLoss(margin=0.5, p=2)(anchor, positive, negative)
    near = torch.cdist(anchor, negative).min(dim=1).values
    contrast = F.cosine_embedding_loss(anchor, positive, torch.ones(anchor.shape[0]))
    far = (1 - F.pairwise_distance(anchor, negative)).clamp(min=0)
    return triplet + F.relu(0.8 - near).mean() + 0.1 * contrast + 0.1 * far.mean()


def batch(n, side=14):
    anchor = torch.rand(n, 1, side, side)
    return anchor, anchor + 0.2 * torch.randn(n, 1, side, side), torch.rand(n, 1, side, side)


def build():
    return Siamese(), batch(4), loss


def sizes():
    return [batch(2), batch(7), batch(3, 18)]
