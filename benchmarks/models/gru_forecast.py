"""Forecasting in the manner of DeepAR (Salinas et al. 2017): a GRU gives the distribution of every next value."""

import torch
from torch import nn
from torch.distributions import NegativeBinomial, StudentT


class DeepAR(nn.Module):
    def __init__(self, hidden=12, covariates=2):
        super().__init__()
        self.gru = nn.GRU(1 + covariates, hidden, num_layers=2, batch_first=True)
        self.real, self.count = nn.Linear(hidden, 3), nn.Linear(hidden, 2)

    def forward(self, series, counts, covariates):
        scale = series.abs().mean(dim=1, keepdim=True) + 1
        x = torch.cat([(series[:, :-1] / scale).unsqueeze(-1), covariates[:, 1:]], dim=-1)
        h, _ = self.gru(x)
        return self.real(h), self.count(h), scale


def loss(out, series, counts, covariates):
    real, count, scale = out
    df, loc, spread = real.unbind(-1)
    student = StudentT(2 + nn.functional.softplus(df), loc * scale, nn.functional.softplus(spread) * scale)
    total, logits = nn.functional.softplus(count[..., 0]) + 0.1, count[..., 1]
    binomial = NegativeBinomial(total_count=total, logits=logits)
    return -student.log_prob(series[:, 1:]).mean() - binomial.log_prob(counts[:, 1:]).mean()


def batch(n, t):
    return torch.randn(n, t).cumsum(1), torch.randint(0, 9, (n, t)).float(), torch.randn(n, t, 2)


def build():
    return DeepAR(), batch(4, 12), loss


def sizes():
    return [batch(2, 12), batch(5, 16), batch(3, 9)]
