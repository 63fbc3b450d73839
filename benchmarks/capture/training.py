"""Steps of training written with functional transforms, and updates of parameters."""

import torch
import torch.nn.functional as F
from torch.func import grad, hessian, vmap

from benchmarks.capture import normal, program


@program(normal(("n", 8), ("n", 1), (8, 16), (16,), (16, 1)), grads=False)
def mlp_sgd_step(x, y, w1, b1, w2):
    loss = lambda w1, b1, w2: F.mse_loss(torch.tanh(x @ w1 + b1) @ w2, y)
    slopes = grad(loss, argnums=(0, 1, 2))(w1, b1, w2)
    return [p - 0.1 * g for p, g in zip((w1, b1, w2), slopes)]


@program(normal(("n", 5), ("n",), (5,)), grads=False)
def newton_step(x, y, w):
    loss = lambda w: ((x @ w - y) ** 2).mean() + 0.1 * (w**2).sum()
    return w - torch.linalg.solve(hessian(loss)(w), grad(loss)(w))


@program(normal((4, 6), (6,), (4, 6), (4, 6), (6,), (6,)), grads=False)
def adam_step(w, b, gw, m, gb, mb, lr=1e-2, betas=(0.9, 0.99), eps=1e-8, step=3):
    state = {"w": [w, gw, m], "b": [b, gb, mb]}
    out = {}
    for name, (p, g, first) in state.items():
        first = betas[0] * first + (1 - betas[0]) * g
        second = (1 - betas[1]) * g * g
        scale = (1 - betas[1] ** step) ** 0.5 / (1 - betas[0] ** step)
        out[name] = p - lr * scale * first / (second.sqrt() + eps)
    return out


@program(normal(("n", 4), ("n", 4), ("n", 4)), grads=False)
def lion_step(p, g, m):
    update = (0.9 * m + 0.1 * g).sign()
    return p - 1e-3 * (update + 0.01 * p), 0.99 * m + 0.01 * g


@program(normal(("n", 3), ("n", 3)), grads=False)
def moving_average_of_weights(average, weights):
    with torch.no_grad():
        average.mul_(0.99).add_(weights, alpha=0.01)
    return average


@program(normal(("n", 4), ("n", 4), ("n", 1), ("n", 1), (4, 8), (8, 1)))
def maml(x, x_query, y, y_query, w1, w2):
    net = lambda p, x: torch.tanh(x @ p[0]) @ p[1]
    inner = lambda p: F.mse_loss(net(p, x), y)
    params = (w1, w2)
    for _ in range(2):
        params = tuple(p - 0.1 * g for p, g in zip(params, grad(inner)(params)))
    return F.mse_loss(net(params, x_query), y_query)


@program(normal(("n", 6), ("n",), (6,)), grads=False)
def per_sample_gradients(x, y, w):
    loss = lambda w, x, y: (x @ w - y).abs() ** 1.5
    slopes = vmap(grad(loss), in_dims=(None, 0, 0))(w, x, y)
    scale = (1.0 / slopes.norm(dim=1, keepdim=True).clamp(min=1e-6)).clamp(max=1.0)
    return (slopes * scale).mean(0)


@program(normal(("n", 5), ("n", 5), (5, 7), (7, 1)))
def gradient_penalty(real, fake, w1, w2):
    critic = lambda x: (F.softplus(x @ w1) @ w2).sum()
    middle = 0.3 * real + 0.7 * fake
    slopes = grad(critic)(middle)
    return ((slopes.norm(dim=1) - 1) ** 2).mean() + (critic(fake) - critic(real)) / real.shape[0]


@program(normal(("n", 6), (6,), (6,), (6,), (6,)))
def batch_norm_in_training(x, weight, bias, mean, var):
    m, v = x.mean(0), x.var(0, unbiased=False)
    with torch.no_grad():
        mean = mean * 0.9 + 0.1 * m
        var = var * 0.9 + 0.1 * v
    return (x - m) * torch.rsqrt(v + 1e-5) * weight + bias, mean.detach(), var.detach()


@program(normal(("n", 8), (8, 3), (3, 8, 8)))
def mixture_of_experts(x, gate, experts):
    scores, chosen = (x @ gate).topk(2, dim=-1)
    weights = torch.zeros(x.shape[0], 3).scatter(1, chosen, scores.softmax(-1))
    outs = torch.einsum("nd,edh->neh", x, experts).relu()
    load = weights.mean(0)
    return (weights.unsqueeze(-1) * outs).sum(1), (load * load).sum()
