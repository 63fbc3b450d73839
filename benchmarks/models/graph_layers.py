"""Layers of graph networks: convolution, attention (dense and by edges), isomorphism, mean and maximum of neighbours, Set2Set."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.spmm(adj, support)
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.in_features) + " -> " + str(self.out_features) + ")"


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, dropout, alpha, concat=True):
        super().__init__()
        self.dropout, self.concat = dropout, concat
        self.W = nn.Parameter(torch.zeros(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        n = self.W.shape[1]
        e = self.leakyrelu(torch.matmul(Wh, self.a[:n, :]) + torch.matmul(Wh, self.a[n:, :]).T)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, dim=1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


def scatter_softmax(src, index, n):
    mx = torch.full((n,) + src.shape[1:], float("-inf")).scatter_reduce(
        0, index[:, None].expand_as(src), src, "amax", include_self=False
    )
    e = (src - mx[index]).exp()
    s = torch.zeros(n, *src.shape[1:]).index_add(0, index, e)
    return e / (s[index] + 1e-16)


class GIN(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.eps = nn.Parameter(torch.Tensor([0.0]))
        self.mlp = nn.Sequential(nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU(), nn.Linear(o, o))

    def forward(self, x, ei):
        src, dst = ei
        out = torch.zeros_like(x).scatter_add_(0, dst.unsqueeze(-1).expand(-1, x.size(-1)), x.index_select(0, src))
        return self.mlp((1 + self.eps) * x + out)


class EdgeGAT(nn.Module):
    def __init__(self, i, o, heads=2):
        super().__init__()
        self.heads, self.o = heads, o
        self.lin = nn.Linear(i, o * heads, bias=False)
        self.att = nn.Parameter(torch.randn(1, heads, 2 * o))

    def forward(self, x, ei):
        h = self.lin(x).view(-1, self.heads, self.o)
        al = (torch.cat([h[ei[0]], h[ei[1]]], -1) * self.att).sum(-1)
        al = scatter_softmax(F.leaky_relu(al, 0.2), ei[1], x.size(0))
        out = torch.zeros_like(h)
        out.index_add_(0, ei[1], h[ei[0]] * al.unsqueeze(-1))
        return out.mean(1)


class Sage(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.l, self.r = nn.Linear(i, o), nn.Linear(i, o, bias=False)

    def forward(self, x, ei):
        deg = torch.bincount(ei[1], minlength=x.size(0)).clamp(min=1).to(x.dtype)
        agg = x.new_zeros(x.shape).index_put_((ei[1],), x[ei[0]], accumulate=True) / deg[:, None]
        mx = torch.zeros_like(x).index_reduce_(0, ei[1], x[ei[0]], "amax", include_self=False)
        return F.normalize(self.l(agg + mx) + self.r(x), p=2.0, dim=-1)


class Set2Set(nn.Module):
    def __init__(self, d, steps=2):
        super().__init__()
        self.d, self.steps = d, steps
        self.lstm = nn.LSTM(2 * d, d)

    def forward(self, x, batch):
        n = int(batch.max()) + 1 if not hasattr(self, "n") else self.n
        h = (x.new_zeros((1, n, self.d)), x.new_zeros((1, n, self.d)))
        q_star = x.new_zeros(n, 2 * self.d)
        for _ in range(self.steps):
            q, h = self.lstm(q_star.unsqueeze(0), h)
            q = q.view(n, self.d)
            e = (x * q[batch]).sum(dim=-1, keepdim=True)
            a = scatter_softmax(e, batch, n)
            r = torch.zeros(n, self.d).index_add_(0, batch, a * x)
            q_star = torch.cat([q, r], dim=-1)
        return q_star


class Net(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.gc = GraphConvolution(d, d)
        self.gats = [GraphAttentionLayer(d, d // 2, 0.0, 0.2) for _ in range(2)]
        for i, a in enumerate(self.gats):
            self.add_module(f"attention_{i}", a)
        self.gin, self.eg, self.sage, self.pool = GIN(d, d), EdgeGAT(d, d), Sage(d, d), Set2Set(d)
        self.pool.n = 2
        self.out = nn.Linear(2 * d, 3)

    def forward(self, x, ei, batch):
        n = x.size(0)
        A = torch.zeros(n, n)
        A[ei[0], ei[1]] = 1.0
        A = A + torch.eye(n)
        D = A.sum(1).pow(-0.5)
        D[torch.isinf(D)] = 0.0
        N = D[:, None] * A * D[None]
        x = F.relu(self.gc(x, N))
        x = torch.cat([att(x, A) for att in self.gats], dim=1)
        x = self.gin(x, ei)
        x = F.elu(self.eg(x, ei)) + x
        x = self.sage(x, ei)
        return F.log_softmax(self.out(self.pool(x, batch)), dim=1)


def loss(o, x, ei, b):
    return F.nll_loss(o, torch.tensor([0, 2]))


def batch(n, e):
    return torch.randn(n, 6), torch.randint(0, n, (2, e)), torch.arange(n) % 2


def build():
    return Net(), batch(8, 20), loss


def sizes():
    return [batch(6, 20), batch(9, 15), batch(12, 30)]
