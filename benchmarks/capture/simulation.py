"""Simulations and numerics, some of them in NumPy."""

import numpy as np
import torch
from torch._higher_order_ops.while_loop import while_loop

from benchmarks.capture import normal, program


@program(normal(("n", 12)))
def heat_equation(u):
    for _ in range(5):
        lap = u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1) - 4 * u
        u = u + 0.1 * lap
    return u


@program(normal(("n", 3), ("n", 3), ("n", 1)))
def n_bodies(x, v, m):
    for _ in range(2):
        d = x[None] - x[:, None]
        force = (d * m[None].abs() / (d.pow(2).sum(-1, keepdim=True) + 0.01) ** 1.5).sum(1)
        v = v + 0.01 * force
        x = x + 0.01 * v
    return x, v


@program(lambda n, rng: (rng.integers(0, 2, (n, 10)),), grads=False)
def game_of_life(board):
    around = sum(board.roll((i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((around == 3) | ((board == 1) & (around == 2))).long()


@program(normal(("n", 2), (2, 2)), grads=False)
def ode_by_while_loop(y, a):
    step = lambda t, y: (t + 1, y + 0.1 * torch.tanh(y @ a))
    return while_loop(lambda t, y: t < 7, step, (torch.zeros((), dtype=torch.int64), y))[1]


@program(normal(("n", 3), ("n", 3, 3), ("n", 2)))
def kalman_step(mean, spread, seen):
    h = torch.eye(3)[:2]
    p = spread @ spread.mT + torch.eye(3)
    s = h @ p @ h.mT + 0.5 * torch.eye(2)
    gain = torch.linalg.solve(s, h @ p).mT
    mean = mean + (gain @ (seen - mean @ h.mT)[..., None])[..., 0]
    return mean, p - gain @ h @ p


@program(normal(("n", "n"), ("n",)))
def conjugate_gradient(m, b):
    a = m @ m.T + b.shape[0] * torch.eye(b.shape[0])
    x = torch.zeros_like(b)
    r = p = b - a @ x
    for _ in range(3):
        ap = a @ p
        step = (r @ r) / (p @ ap)
        x, new = x + step * p, r - step * ap
        p, r = new + (new @ new) / (r @ r) * p, new
    return x


@program(normal(("n", 6)))
def power_iteration(m):
    v = torch.ones(6)
    for _ in range(5):
        v = m.T @ (m @ v)
        v = v / v.norm()
    return (m @ v).norm()


@program(normal((2, "n")), grads=False)
def low_pass(signal):
    spectrum = torch.fft.rfft(signal)
    cut = spectrum.shape[-1] // 3
    kept = torch.arange(spectrum.shape[-1]) < cut
    return torch.fft.irfft(spectrum * kept, n=signal.shape[-1])


@program(normal(("n",), ("n",)), grads=False)
def pendulums_in_numpy(angle, speed):
    angle, speed = angle.numpy(), speed.numpy()
    for _ in range(4):
        speed = speed - 0.05 * np.sin(angle)
        angle = (angle + 0.05 * speed + np.pi) % (2 * np.pi) - np.pi
    energy = 0.5 * speed**2 + 1 - np.cos(angle)
    return torch.from_numpy(angle), torch.from_numpy(energy)


@program(normal(("n", 4)), grads=False)
def standardized_in_numpy(x):
    a = x.numpy()
    mean, spread = np.mean(a, axis=0, keepdims=True), np.std(a, axis=0, keepdims=True)
    return torch.from_numpy(np.clip((a - mean) / (spread + 1e-6), -2, 2))


@program(lambda n, rng: (rng.normal(size=n).astype("f4"), rng.normal(size=n).astype("f4"), rng.uniform(size=n).astype("f4")), False)
def metropolis(x, proposal, draw):
    energy = lambda x: 0.25 * x**4 - x**2
    y = x + 0.5 * proposal
    accepted = draw.log() < energy(x) - energy(y)
    return torch.where(accepted, y, x), accepted.float().mean()
