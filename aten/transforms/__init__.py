"""Function transforms: make_fx, vmap, jvp, grad and what is built from them."""

import importlib

_WHERE = {
    "make_fx": "trace", "vmap": "batching", "batched": "batching",
    "jvp": "forward_mode", "linearize": "forward_mode", "grad": "reverse_mode",
    "value_and_grad": "reverse_mode", "grad_and_value": "reverse_mode", "vjp": "reverse_mode", "jacfwd": "jacobian",
    "jacrev": "jacobian", "hessian": "jacobian",
}  # fmt: skip
__all__ = list(_WHERE)


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module 'aten.transforms' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"aten.transforms.{_WHERE[name]}"), name)
    return value
