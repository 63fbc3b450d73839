"""Choosing of tokens and boxes."""

import torch

from benchmarks.capture import normal, program


@program(normal(("n", 20)), grads=False)
def top_k_filter(logits):
    least = logits.topk(5, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, float("-inf")).softmax(-1)


@program(normal(("n", 20)), grads=False)
def nucleus_filter(logits):
    ordered, at = logits.sort(dim=-1, descending=True)
    probs = ordered.softmax(-1)
    ordered = ordered.masked_fill(probs.cumsum(-1) - probs > 0.9, float("-inf"))
    return torch.empty_like(logits).scatter_(1, at, ordered).softmax(-1)


@program(lambda n, rng: (rng.normal(size=(n, 3)).astype("f4"), rng.normal(size=(n, 3, 11)).astype("f4")), grads=False)
def beam_search_step(scores, logits):
    total = scores[:, :, None] + logits.log_softmax(-1)
    best, at = total.flatten(1).topk(3, dim=1)
    beams, tokens = at // 11, at % 11
    return best, beams, tokens


@program(lambda n, rng: (rng.normal(size=(n, 9)).astype("f4"), rng.uniform(0.01, 0.99, (n, 9)).astype("f4")), grads=False)
def gumbel_choice(logits, noise):
    return (logits - torch.log(-torch.log(noise))).argmax(-1)


@program(normal((3, 5), (5, 9), (9, 5)), grads=False)
def greedy_decoding(state, out, embed):
    tokens = []
    for _ in range(6):
        token = (state @ out).argmax(-1)
        tokens.append(token)
        state = torch.tanh(state + embed[token])
    return torch.stack(tokens, 1)


def boxes(n, rng):
    corner = rng.uniform(0, 10, (n, 2))
    return np32(rng, corner, n), rng.uniform(size=n).astype("f4")


def np32(rng, corner, n):
    import numpy as np

    return np.concatenate([corner, corner + rng.uniform(1, 5, (n, 2))], 1).astype("f4")


def overlap(a, b):
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    return shared / (area(a)[:, None] + area(b)[None] - shared)


@program(boxes, grads=False)
def non_maximum_suppression(boxes, scores):
    kept = []
    for _ in range(4):
        best = scores.argmax()
        kept.append(best)
        near = overlap(boxes[best][None], boxes)[0] > 0.5
        scores = scores.masked_fill(near, -1.0).index_fill(0, best.reshape(1), -1.0)
    return torch.stack(kept)


@program(normal((5, "n", 4), (4, 4)), grads=False)
def viterbi(emissions, transitions):
    score, back = emissions[0], []
    for t in range(1, 5):
        best, at = (score[:, :, None] + transitions).max(1)
        score = best + emissions[t]
        back.append(at)
    path = [score.argmax(-1)]
    for at in reversed(back):
        path.append(at.gather(1, path[-1][:, None])[:, 0])
    return torch.stack(path[::-1]), score.amax(-1)


@program(lambda n, rng: (rng.uniform(0.1, 1, n).astype("f4"), rng.uniform(0, 1, n).astype("f4")), grads=False)
def resampling(weights, draws):
    return torch.searchsorted((weights / weights.sum()).cumsum(0), draws.contiguous())
