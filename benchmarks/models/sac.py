"""A step of soft actor-critic (Haarnoja et al. 2018): a squashed Gaussian policy, twin critics, targets."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform

STATE, ACTION = 5, 2


class SoftQNetwork(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(STATE + ACTION, hidden), nn.Linear(hidden, 1)

    def forward(self, state, action):
        return self.fc2(F.relu(self.fc1(torch.cat([state, action], 1)))).view(-1)


class Actor(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.fc = nn.Linear(STATE, hidden)
        self.mean, self.log_std = nn.Linear(hidden, ACTION), nn.Linear(hidden, ACTION)

    def forward(self, state, noise):
        """The action that the given noise makes, and its log probability."""
        x = F.relu(self.fc(state))
        mean, log_std = self.mean(x), torch.tanh(self.log_std(x))
        log_std = -5 + 0.5 * (2 + 5) * (log_std + 1)
        policy = TransformedDistribution(Normal(mean, log_std.exp()), [TanhTransform(cache_size=1)])
        action = torch.tanh(mean + log_std.exp() * noise).clamp(-0.999, 0.999)
        return action, policy.log_prob(action).sum(-1)


class SAC(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.qf1, self.qf2 = Actor(), SoftQNetwork(), SoftQNetwork()
        self.target1, self.target2 = copy.deepcopy(self.qf1), copy.deepcopy(self.qf2)
        for target in (self.target1, self.target2):
            target.requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.zeros(1))

    def forward(self, state, action, reward, following, done, noise):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            then, logp = self.actor(following, noise[0])
            value = torch.min(self.target1(following, then), self.target2(following, then)) - alpha * logp
            goal = reward + (1 - done) * 0.99 * value
        critic = F.mse_loss(self.qf1(state, action), goal) + F.mse_loss(self.qf2(state, action), goal)
        now, logp = self.actor(state, noise[1])
        actor = (alpha * logp - torch.min(self.qf1(state, now), self.qf2(state, now))).mean()
        temperature = (-self.log_alpha.exp() * (logp.detach() - ACTION)).mean()
        return critic, actor, temperature


def loss(out, *inputs):
    return sum(out)


def batch(n):
    reward, done = torch.randn(n), (torch.rand(n) < 0.2).float()
    return torch.randn(n, STATE), torch.rand(n, ACTION) * 2 - 1, reward, torch.randn(n, STATE), done, torch.randn(2, n, ACTION)


def build():
    return SAC(), batch(8), loss


def sizes():
    return [batch(4), batch(11), batch(16)]
