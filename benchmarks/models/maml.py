"""Model-agnostic meta-learning (Finn et al. 2017): an inner step by func.grad on functional_call, mapped over tasks by vmap."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap


class MAML(nn.Module):
    def __init__(self, hidden=16, rate=0.1):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.rate = rate

    def fit(self, parameters, x, y):
        return F.mse_loss(functional_call(self.net, parameters, (x,)), y)

    def task(self, x1, y1, x2, y2):
        """The loss on a task's queries after one step on its support."""
        parameters = dict(self.net.named_parameters())
        slopes = grad(self.fit)(parameters, x1, y1)
        adapted = {name: p - self.rate * slopes[name] for name, p in parameters.items()}
        return self.fit(adapted, x2, y2)

    def forward(self, x1, y1, x2, y2):
        return vmap(self.task)(x1, y1, x2, y2)


def loss(losses, *inputs):
    return losses.mean()


def batch(tasks, shots):
    amplitude, phase = torch.rand(tasks, 1, 1) * 4 + 0.1, torch.rand(tasks, 1, 1) * 3.14
    x1, x2 = torch.rand(tasks, shots, 1) * 10 - 5, torch.rand(tasks, shots, 1) * 10 - 5
    return x1, amplitude * torch.sin(x1 + phase), x2, amplitude * torch.sin(x2 + phase)


def build():
    return MAML(), batch(4, 5), loss


def sizes():
    return [batch(2, 5), batch(6, 4), batch(3, 9)]
