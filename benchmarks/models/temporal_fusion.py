"""A temporal fusion Transformer (Lim et al. 2019) of dicts, with a loss of quantiles."""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class GatedLinearUnit(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.fc = nn.Linear(i, h * 2)

    def forward(self, x):
        return F.glu(self.fc(x), dim=-1)


class GRN(nn.Module):
    def __init__(self, i, h, o, c=None):
        super().__init__()
        self.l1 = nn.Linear(i, h)
        self.l2 = nn.Linear(h, h)
        self.c = nn.Linear(c, h, bias=False) if c else None
        self.elu = nn.ELU()
        self.glu = GatedLinearUnit(h, o)
        self.norm = nn.LayerNorm(o)
        self.skip = nn.Linear(i, o) if i != o else None

    def forward(self, x, context=None):
        r = x if self.skip is None else self.skip(x)
        x = self.l1(x)
        if context is not None:
            x = x + self.c(context).unsqueeze(1)
        return self.norm(self.glu(self.l2(self.elu(x))) + r)


class QuantileLoss(nn.Module):
    def __init__(self, quantiles):
        super().__init__()
        self.quantiles = quantiles

    def forward(self, preds, target):
        assert not target.requires_grad
        losses = []
        for i, q in enumerate(self.quantiles):
            errors = target - preds[..., i]
            losses.append(torch.max((q - 1) * errors, q * errors).unsqueeze(1))
        return torch.mean(torch.sum(torch.cat(losses, dim=1), dim=1))


class TFT(nn.Module):
    def __init__(self):
        super().__init__()
        self.single = nn.ModuleDict({k: GRN(1, 6, 6) for k in ["price", "temp", "hour"]})
        self.weights = GRN(18, 6, 3, 6)
        self.static = nn.Embedding(4, 6)
        self.lstm = nn.LSTM(6, 6, batch_first=True)
        self.attn = nn.MultiheadAttention(6, 2, batch_first=True)
        self.out = nn.Linear(6, 3)

    def forward(self, price, temp, hour, s, y):
        x: dict[str, Tensor] = {"price": price, "temp": temp, "hour": hour}
        ctx = self.static(s)
        v = OrderedDict((k, m(x[k])) for k, m in self.single.items())
        flat = torch.cat(list(v.values()), dim=-1)
        w = F.softmax(self.weights(flat, ctx), dim=-1).unsqueeze(2)
        z = (torch.stack(tuple(v.values()), dim=-1) * w).sum(-1)
        h, _ = self.lstm(z, (ctx[None], torch.zeros_like(ctx[None])))
        mask = torch.triu(torch.ones(z.size(1), z.size(1), dtype=torch.bool), diagonal=1)
        a, aw = self.attn(h, h, h, attn_mask=mask, average_attn_weights=True)
        return {"prediction": self.out(a), "attention": aw, "weights": w.squeeze(2)}


QUANTILES = QuantileLoss([0.1, 0.5, 0.9])


def loss(out, price, temp, hour, s, y):
    return QUANTILES(out["prediction"], y)


def batch(b):
    return *[torch.randn(b, 5, 1) for _ in range(3)], torch.randint(0, 4, (b,)), torch.randn(b, 5)


def build():
    return TFT(), batch(3), loss


def sizes():
    return [batch(2), batch(5), batch(4)]
