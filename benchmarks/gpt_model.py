"""A character-level GPT in PyTorch's API. `torch` is whichever module offers it: weft, or PyTorch in a peer interpreter."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Config:
    layers: int = 4
    width: int = 128
    heads: int = 4
    context: int = 64
    batch: int = 16
    vocabulary: int = 97


def build(torch: ModuleType, config: Config) -> Any:
    """The model as an nn.Module of `torch`: tokens (B, T) → logits (B, T, vocabulary), T up to the context."""
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(config.width, 3 * config.width)
            self.out = nn.Linear(config.width, config.width)

        def forward(self, x):
            B, T, C = x.shape
            q, k, v = self.qkv(x).split(C, dim=2)
            q, k, v = (t.view(B, T, config.heads, C // config.heads).transpose(1, 2) for t in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(B, T, C))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.attention = nn.LayerNorm(config.width), Attention()
            self.norm2 = nn.LayerNorm(config.width)
            self.mlp = nn.Sequential(
                nn.Linear(config.width, 4 * config.width), nn.GELU(), nn.Linear(4 * config.width, config.width)
            )

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(config.vocabulary, config.width)
            self.positions = nn.Embedding(config.context, config.width)
            self.blocks = nn.ModuleList(Block() for _ in range(config.layers))
            self.norm = nn.LayerNorm(config.width)
            self.head = nn.Linear(config.width, config.vocabulary, bias=False)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return GPT()


def initialise(model: Any, torch: ModuleType, seed: int) -> None:
    """Fills every parameter from NumPy's generator, the same values whatever `torch` is: weights N(0, 0.02), biases 0, norms 1."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            shape = tuple(parameter.shape)
            if len(shape) == 1:
                value = (
                    np.ones(shape, np.float32)
                    if "norm" in name and name.endswith("weight")
                    else np.zeros(shape, np.float32)
                )
            else:
                value = (rng.standard_normal(shape) * 0.02).astype(np.float32)
            parameter.copy_(torch.from_numpy(value))


class Text:
    """The source text of Python's standard library as tokens: printable ASCII and newline, anything else is one token."""

    def __init__(self, limit: int = 1 << 20) -> None:
        folder = os.path.dirname(os.__file__)
        pieces: list[str] = []
        size = 0
        for name in sorted(f for f in os.listdir(folder) if f.endswith(".py")):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                pieces.append(file.read())
            size += len(pieces[-1])
            if size > limit:
                break
        self.alphabet = "\n" + "".join(map(chr, range(32, 127))) + "\x7f"
        index = np.full(0x110000, len(self.alphabet) - 1, np.int64)
        index[[ord(c) for c in self.alphabet]] = np.arange(len(self.alphabet))
        characters = np.frombuffer("".join(pieces)[:limit].encode("utf-32-le", "surrogatepass"), np.uint32)
        self.tokens = index[characters]

    def batches(self, config: Config, steps: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
        """`steps` pairs (tokens, next tokens), each (batch, context) of int64."""
        rng = np.random.default_rng(seed)
        result = []
        for _ in range(steps):
            starts = rng.integers(0, len(self.tokens) - config.context - 1, config.batch)
            rows = np.stack([self.tokens[s : s + config.context + 1] for s in starts])
            result.append((np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, 1:])))
        return result

    def decode(self, tokens: Any) -> str:
        return "".join(self.alphabet[int(t)] for t in tokens)


def flops_per_step(config: Config) -> float:
    """Model FLOPs of one training step: 2 a multiply-add, backward twice the forward, recomputation not counted."""
    tokens = config.batch * config.context
    weights = config.layers * 12 * config.width**2 + config.width * config.vocabulary
    attention = config.layers * 2 * config.context * config.width  # scores and values, the causal half not taken off
    return 3 * 2 * tokens * (weights + attention)
