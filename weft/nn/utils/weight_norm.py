"""weight_norm as a hook: a weight is made of its size and its direction before each call (Salimans & Kingma 2016)."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn.uninitialized import is_lazy

__all__ = ["WeightNorm", "norm_except_dim", "remove_weight_norm", "scaled", "weight_norm"]


def norm_except_dim(v: Tensor, pow: int = 2, dim: int | None = 0) -> Tensor:
    """The norms over all dims but `dim`, which are 1 then; None or -1: over all dims, 0-d."""
    if dim is None or dim == -1:
        return aten.linalg_vector_norm(v, pow)
    if v.dim() == 1:  # each element's own (an empty list of dims would be all of them)
        return v.abs()
    return aten.linalg_vector_norm(v, pow, [i for i in range(v.dim()) if i != dim % v.dim()], keepdim=True)


def scaled(v: Tensor, g: Tensor, dim: int | None = 0) -> Tensor:
    """v with the norms g."""
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook: parameters NAME_g and NAME_v in place of NAME, which is computed."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight of now."""
        return scaled(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Registers it. Raises RuntimeError if there is one for this name, ValueError for lazy weights."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, 2, fn.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Any) -> None:
        """The weight of now becomes a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Computes the parameter `name` of NAME_g (sizes: the norm for each index of `dim`; None: one) and NAME_v (directions)."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Takes it away again. Raises ValueError if there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
