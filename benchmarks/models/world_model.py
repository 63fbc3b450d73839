"""A recurrent state-space model with discrete states (Hafner et al. 2020): distributions, divergences, straight-through draws."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.inp = nn.Linear(6 + 2, 8)
        self.prior = nn.Linear(8, 6)
        self.post = nn.Linear(8 + 4, 6)
        self.dec = nn.Linear(14, 4)

    def dist(self, logit):
        return torch.distributions.Independent(torch.distributions.OneHotCategoricalStraightThrough(logits=logit), 1)

    def forward(self, obs, act):
        h = obs.new_zeros(obs.shape[1], 8)
        z = obs.new_zeros(obs.shape[1], 6)
        kls, recs = [], []
        for o, a in zip(obs.unbind(0), act.unbind(0)):
            h = self.cell(F.elu(self.inp(torch.cat([z, a], -1))), h)
            prior = self.prior(h).view(-1, 2, 3)
            post = self.post(torch.cat([h, o], -1)).view(-1, 2, 3)
            p = post.softmax(-1)
            sample = F.one_hot(p.argmax(-1), 3).float()
            z = (sample + p - p.detach()).flatten(1)
            kl = torch.distributions.kl.kl_divergence
            lhs = kl(self.dist(post.detach()), self.dist(prior)).mean()
            rhs = kl(self.dist(post), self.dist(prior.detach())).mean()
            kls.append(0.8 * torch.maximum(lhs, lhs.new_tensor(0.1)) + 0.2 * torch.clamp(rhs, min=0.1))
            recs.append(self.dec(torch.cat([h, z], -1)))
        return torch.stack(recs), torch.stack(kls)


def loss(out, obs, act):
    return -torch.distributions.Normal(out[0], 1).log_prob(obs).sum(-1).mean() + out[1].sum()


def batch(b):
    return torch.randn(4, b, 4), torch.randn(4, b, 2)


def build():
    return RSSM(), batch(3), loss


def sizes():
    return [batch(2), batch(5), batch(4)]
