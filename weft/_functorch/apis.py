"""Function transforms, under the name that PyTorch has for the file."""

from weft.func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
