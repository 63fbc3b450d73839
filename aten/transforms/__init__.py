"""Function transforms: make_fx, vmap, jvp, grad and what is built from them."""

import importlib

_WHERE = {
    "make_fx": "trace", "vmap": "vmap", "jvp": "jvp", "jacfwd": "jacobian", "jacrev": "jacobian", "hessian": "jacobian",
    "grad": "grad", "value_and_grad": "grad", "grad_and_value": "grad", "vjp": "grad", "linearize": "jvp",
}  # fmt: skip
__all__ = list(_WHERE)


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module 'aten.transforms' has no attribute {name!r}")
    return getattr(importlib.import_module(f"aten.transforms.{_WHERE[name]}"), name)
