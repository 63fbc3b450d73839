"""functorch's names: transforms of functions (those of weft.func), and `functorch.compile`."""

from aten.fx.experimental.proxy_tensor import make_fx
from weft.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "make_fx", "vjp", "vmap"]
