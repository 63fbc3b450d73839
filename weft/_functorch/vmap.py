"""vmap, under the name of PyTorch's module."""

from weft.func import chunk_vmap, vmap

__all__ = ["chunk_vmap", "vmap"]
