"""functorch.experimental's names."""

from aten.higher_order import cond
from weft.func import chunk_vmap, functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "cond", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
