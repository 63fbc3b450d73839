"""TabNet (Arik, Pfister 2021): features of a table chosen step by step by sparsemax, with what was chosen before held back."""

import torch
import torch.nn.functional as F


class GhostBatchNorm(torch.nn.Module):
    def __init__(self, features, momentum=0.02):
        super().__init__()
        self.bn = torch.nn.BatchNorm1d(features, momentum=momentum)

    def forward(self, x):
        return torch.cat([self.bn(part) for part in x.chunk(2, 0)], dim=0)


class GLULayer(torch.nn.Module):
    def __init__(self, inputs, outputs, shared=None):
        super().__init__()
        self.fc = shared if shared is not None else torch.nn.Linear(inputs, 2 * outputs, bias=False)
        self.bn = GhostBatchNorm(2 * outputs)

    def forward(self, x):
        return F.glu(self.bn(self.fc(x)), dim=-1)


def sparsemax(z):
    ordered, _ = torch.sort(z, dim=-1, descending=True)
    k = torch.arange(1, z.size(-1) + 1).to(z)
    total = torch.cumsum(ordered, dim=-1) - 1
    count = (k * ordered > total).sum(dim=-1, keepdim=True)
    tau = total.gather(-1, count - 1) / count.to(z.dtype)
    return torch.clamp(z - tau, min=0)


class TabNet(torch.nn.Module):
    def __init__(self, cardinalities=(3, 5), numbers=4, width=6, steps=3, classes=3, gamma=1.3):
        super().__init__()
        self.embeddings = torch.nn.ModuleList(torch.nn.Embedding(c, 2) for c in cardinalities)
        inputs = 2 * len(cardinalities) + numbers
        self.steps, self.width, self.gamma = steps, width, gamma
        self.bn = torch.nn.BatchNorm1d(inputs)
        shared = torch.nn.Linear(inputs, 4 * width, bias=False)
        self.features = torch.nn.ModuleList(GLULayer(inputs, 2 * width, shared) for _ in range(steps + 1))
        self.attention = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(width, inputs, bias=False), GhostBatchNorm(inputs)) for _ in range(steps)
        )
        self.head = torch.nn.Linear(width, classes, bias=False)

    def forward(self, categories, numbers, target):
        parts = [e(categories[:, i]) for i, e in enumerate(self.embeddings)]
        x = self.bn(torch.cat([*parts, numbers], dim=1))
        prior, entropy, decided = torch.ones_like(x), 0.0, 0.0
        attended = self.features[0](x)[:, self.width :]
        for step in range(self.steps):
            mask = sparsemax(self.attention[step](attended) * prior)
            entropy = entropy + torch.mean(torch.sum(mask * torch.log(mask + 1e-15), dim=1))
            prior = torch.mul(self.gamma - mask, prior)
            out = self.features[step + 1](mask * x)
            decided = decided + F.relu(out[:, : self.width])
            attended = out[:, self.width :]
        return self.head(decided), entropy / self.steps


def loss(out, categories, numbers, target):
    logits, entropy = out
    return F.cross_entropy(logits, target, label_smoothing=0.1) - 1e-3 * entropy


def batch(n):
    categories = torch.stack([torch.randint(3, (n,)), torch.randint(5, (n,))], dim=1)
    return categories, torch.randn(n, 4), torch.randint(3, (n,))


def build():
    return TabNet(), batch(16), loss


def sizes():
    return [batch(8), batch(20), batch(26)]
