"""functorch's names: transforms of functions (those of weft.func, with a FutureWarning that says so), and `functorch.compile`."""

from aten.fx.experimental.proxy_tensor import make_fx
from weft import func as _func
from weft._functorch.make_functional import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from weft.func import linearize
from weft.functorch.old_names import announced as _announced

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value",
    "hessian", "jacfwd", "jacrev", "jvp", "linearize", "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap",
]  # fmt: skip

functionalize, grad, grad_and_value = _announced(_func.functionalize), _announced(_func.grad), _announced(_func.grad_and_value)
hessian, jacfwd, jacrev = _announced(_func.hessian), _announced(_func.jacfwd), _announced(_func.jacrev)
jvp, vjp, vmap = _announced(_func.jvp), _announced(_func.vjp), _announced(_func.vmap, "torch.vmap")
