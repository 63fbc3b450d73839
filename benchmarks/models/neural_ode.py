"""A neural ODE (Chen et al. 2018): Runge-Kutta forward without a graph, the adjoint integrated backwards by autograd.Function."""

import torch
from torch import nn


class Dynamics(nn.Module):
    def __init__(self, dim=3, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, hidden), nn.Tanh(), nn.Linear(hidden, dim))

    def forward(self, t, y):
        return self.net(torch.cat([y, t.expand(y.shape[0], 1)], dim=1))


def rk4(f, t, h, state):
    """One step for a tuple of tensors."""
    k1 = f(t, state)
    k2 = f(t + h / 2, tuple(s + h / 2 * k for s, k in zip(state, k1)))
    k3 = f(t + h / 2, tuple(s + h / 2 * k for s, k in zip(state, k2)))
    k4 = f(t + h, tuple(s + h * k for s, k in zip(state, k3)))
    return tuple(s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4))


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, times, y, *parameters):
        ctx.func = func
        with torch.no_grad():
            for a, b in zip(times[:-1], times[1:]):
                (y,) = rk4(lambda t, s: (func(t, s[0]),), a, b - a, (y,))
        ctx.save_for_backward(times, y, *parameters)
        return y

    @staticmethod
    def backward(ctx, grad):
        times, y, *parameters = ctx.saved_tensors
        func = ctx.func

        def augmented(t, state):
            y, a = state[:2]
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                out = func(t, y)
                dy, *dp = torch.autograd.grad(out, (y, *parameters), -a)
            return (out.detach(), dy, *dp)

        state = (y, grad, *(torch.zeros_like(p) for p in parameters))
        for a, b in zip(times.flip(0)[:-1], times.flip(0)[1:]):
            state = rk4(augmented, a, b - a, state)
        return (None, None, state[1], *state[2:])


class NeuralODE(nn.Module):
    def __init__(self):
        super().__init__()
        self.func, self.head = Dynamics(), nn.Linear(3, 2)

    def forward(self, y0, target):
        times = torch.linspace(0.0, 1.0, 4)
        y1 = Adjoint.apply(self.func, times, y0, *self.func.parameters())
        return y1, self.head(y1)


def loss(out, y0, target):
    return (out[1] - target).abs().mean() + 0.1 * out[0].pow(2).mean()


def batch(n):
    return torch.randn(n, 3), torch.randn(n, 2)


def build():
    return NeuralODE(), batch(6), loss


def sizes():
    return [batch(3), batch(9), batch(12)]
