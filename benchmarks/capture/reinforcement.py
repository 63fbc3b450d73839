"""Reinforcement learning: targets, advantages, losses."""

import torch
import torch.nn.functional as F

from benchmarks.capture import normal, program


def steps(*sizes, actions=3):
    """Inputs of these sizes, then actions taken."""
    make = normal(*sizes)
    return lambda n, rng: (*make(n, rng), rng.integers(0, actions, n))


@program(normal((6, "n"), (7, "n")))
def generalized_advantages(rewards, values):
    found, last = [], torch.zeros(rewards.shape[1])
    for t in reversed(range(6)):
        delta = rewards[t] + 0.99 * values[t + 1] - values[t]
        last = delta + 0.99 * 0.95 * last
        found.append(last)
    return torch.stack(found[::-1])


@program(steps(("n", 3), ("n", 3), ("n",)))
def ppo_loss(logits, old, advantages, actions):
    pick = lambda x: x.log_softmax(-1).gather(1, actions[:, None])[:, 0]
    ratio = (pick(logits) - pick(old.detach())).exp()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    clipped = ratio.clamp(0.8, 1.2) * advantages
    entropy = torch.distributions.Categorical(logits=logits).entropy().mean()
    return -torch.minimum(ratio * advantages, clipped).mean() - 0.01 * entropy


@program(steps(("n", 3), ("n", 3), ("n", 3), ("n",)))
def double_dqn(q, q_next, target_next, rewards, actions):
    with torch.no_grad():
        best = q_next.argmax(1, keepdim=True)
        goal = rewards + 0.99 * target_next.gather(1, best)[:, 0]
    return F.smooth_l1_loss(q.gather(1, actions[:, None])[:, 0], goal)


@program(normal((8, "n")))
def discounted_returns(rewards):
    decay = 0.9 ** torch.arange(8, dtype=torch.float32)[:, None]
    return (rewards * decay).flip(0).cumsum(0).flip(0) / decay


@program(normal(("n", 4), ("n", 4), ("n", 2)))
def soft_actor(mean, log_std, q):
    pi = torch.distributions.Normal(mean, log_std.clamp(-3, 1).exp(), validate_args=False)
    action = torch.tanh(mean)
    logp = (pi.log_prob(mean) - torch.log1p(-action.pow(2) + 1e-6)).sum(-1)
    return (0.2 * logp - q.amin(-1)).mean()
