"""Boxed functions, where PyTorch keeps them."""

from weft._functorch.aot_autograd import make_boxed_compiler, make_boxed_func

__all__ = ["make_boxed_compiler", "make_boxed_func"]
