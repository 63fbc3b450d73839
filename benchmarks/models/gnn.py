"""Graph networks by scatter: a convolution with degrees (Kipf and Welling 2016), attention over edges (Velickovic et al. 2017)."""

import torch
import torch.nn.functional as F
from torch import nn

FEATURES, CLASSES = 6, 4


class GCNConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, edges):
        row, col = edges
        degree = torch.zeros(x.size(0)).scatter_add_(0, col, torch.ones(col.size(0)))
        norm = degree.clamp(min=1).pow(-0.5)
        norm = norm[row] * norm[col]
        x = self.linear(x)
        out = torch.zeros_like(x).index_add_(0, col, norm.view(-1, 1) * x[row])
        return out + self.bias


class GATConv(nn.Module):
    def __init__(self, inputs, outputs, heads=2):
        super().__init__()
        self.heads, self.outputs = heads, outputs
        self.linear = nn.Linear(inputs, heads * outputs, bias=False)
        self.source, self.target = (nn.Parameter(torch.randn(1, heads, outputs) * 0.3) for _ in range(2))

    def forward(self, x, edges):
        n = x.size(0)
        row, col = edges[0], edges[1]
        h = self.linear(x).view(n, self.heads, self.outputs)
        scores = F.leaky_relu((h * self.source).sum(-1)[row] + (h * self.target).sum(-1)[col], 0.2)
        where = col.unsqueeze(-1).expand_as(scores)
        largest = torch.full((n, self.heads), -1e9).scatter_reduce(0, where, scores.detach(), reduce="amax", include_self=True)
        weights = (scores - largest[col]).exp()
        total = torch.zeros(n, self.heads).scatter_add(0, where, weights)
        weights = weights / (total[col] + 1e-16)
        messages = weights.unsqueeze(-1) * h[row]
        return torch.zeros(n, self.heads, self.outputs).index_add(0, col, messages).flatten(1)


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(FEATURES, 12), GATConv(12, 8)
        self.readout = nn.Linear(16, CLASSES)

    def forward(self, x, edges, graph, labels):
        x = F.elu(self.conv2(F.relu(self.conv1(x, edges)), edges))
        count = labels.size(0)
        pooled = torch.zeros(count, x.size(1)).scatter_reduce(0, graph[:, None].expand_as(x), x, "mean", include_self=False)
        return self.readout(pooled)


def loss(logits, x, edges, graph, labels):
    return F.cross_entropy(logits, labels)


def batch(nodes, edges, graphs):
    graph = torch.arange(nodes) % graphs
    loops = torch.arange(nodes).repeat(2, 1)
    pairs = torch.cat([torch.randint(nodes, (2, edges)), loops], 1)
    return torch.randn(nodes, FEATURES), pairs, graph, torch.randint(CLASSES, (graphs,))


def build():
    return GNN(), batch(20, 50, 3), loss


def sizes():
    return [batch(20, 60, 3), batch(25, 40, 4), batch(31, 70, 5)]
