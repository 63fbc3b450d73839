"""The function transforms, and how they choose among positional arguments, under the name of PyTorch's module."""

from aten.transforms.argnums import chosen_arguments as _slice_argnums
from weft.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp

__all__ = ["_slice_argnums", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]
