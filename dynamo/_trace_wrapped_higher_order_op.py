"""Where programs written for PyTorch find TransformGetItemToIndex."""

from contextlib import nullcontext

__all__ = ["TransformGetItemToIndex"]

# A block in which `x[i]` by a tensor is an op under vmap as well. It always is: there is nothing to change.
TransformGetItemToIndex = nullcontext
