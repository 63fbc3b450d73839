"""A step of proximal policy optimisation (Schulman et al. 2017): Categorical and Normal policies, clipped ratio, advantages."""

import torch
import torch.nn as nn
from torch.distributions import Categorical, Independent, Normal

OBSERVATION, ACTIONS, CONTINUOUS = 6, 4, 2


def layer_init(layer, std=2**0.5, bias_const=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(OBSERVATION, hidden)), nn.Tanh(), layer_init(nn.Linear(hidden, 1), std=1.0)
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(OBSERVATION, hidden)), nn.Tanh(), layer_init(nn.Linear(hidden, ACTIONS + CONTINUOUS), std=0.1)
        )
        self.log_std = nn.Parameter(torch.zeros(CONTINUOUS))

    def forward(self, observations, discrete, continuous, old, rewards, done):
        logits, mean = self.actor(observations).split([ACTIONS, CONTINUOUS], dim=-1)
        choice, move = Categorical(logits=logits), Independent(Normal(mean, self.log_std.exp().expand_as(mean)), 1)
        logprob = choice.log_prob(discrete) + move.log_prob(continuous)
        return logprob, choice.entropy() + move.entropy(), self.critic(observations).squeeze(-1)


def advantages(rewards, values, done, gamma=0.99, decay=0.95):
    """Generalised advantage estimation, backwards in time."""
    steps, last = len(rewards), 0.0
    found = torch.zeros_like(rewards)
    for t in reversed(range(steps)):
        following = values[t + 1] if t + 1 < steps else 0.0
        delta = rewards[t] + gamma * following * (1 - done[t]) - values[t]
        found[t] = last = delta + gamma * decay * (1 - done[t]) * last
    return found


def loss(out, observations, discrete, continuous, old, rewards, done, clip=0.2):
    logprob, entropy, values = out
    with torch.no_grad():
        advantage = advantages(rewards, values, done)
        returns = advantage + values
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    ratio = (logprob - old).exp()
    policy = torch.max(-advantage * ratio, -advantage * torch.clamp(ratio, 1 - clip, 1 + clip)).mean()
    return policy - 0.01 * entropy.mean() + 0.5 * 0.5 * ((values - returns) ** 2).mean()


def batch(n):
    done = (torch.rand(n) < 0.1).float()
    old = torch.randn(n) * 0.2 - 4
    return torch.randn(n, OBSERVATION), torch.randint(ACTIONS, (n,)), torch.randn(n, CONTINUOUS), old, torch.randn(n), done


def build():
    return Agent(), batch(10), loss


def sizes():
    return [batch(6), batch(15), batch(8)]
