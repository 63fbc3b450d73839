"""Distances as modules."""

from __future__ import annotations

from weft.nn.layer import layer
from weft.nn.module import Module


@layer("pairwise_distance", "p: float = 2.0, eps: float = 1e-6, keepdim: bool = False",
       inputs="x1, x2", passed="norm eps keepdim", shown="")  # fmt: skip
class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dimension."""

    def __post_init__(self) -> None:
        self.norm = self.__dict__.pop("p")


@layer("cosine_similarity", "dim: int = 1, eps: float = 1e-8", inputs="x1, x2", shown="")
class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2 along `dim`."""
