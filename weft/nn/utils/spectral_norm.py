"""spectral_norm as a hook: a weight is divided by its largest singular value before each call (Miyato et al. 2018)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn import functional as F

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm", "transposed_dim"]


def transposed_dim(module: Any) -> int:
    """The dim of a module's weight that counts outputs: 1 for transposed convolutions, else 0."""
    transposed = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
    return 1 if any(cls.__name__ in transposed for cls in type(module).__mro__) else 0


class SpectralNorm:
    """The hook: a parameter NAME_orig and buffers NAME_u, NAME_v (singular vectors, by power iteration) in place of NAME."""

    _version = 1  # of the layout of the state: 1 has NAME_v

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """(outputs, all else)."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight of now; with power iterations, u and v are moved on, in place."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with aten.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(aten.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(aten.mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # what this call's backward needs, the next call moves on
        sigma = aten.dot(u, aten.mv(matrix, v))
        return weight / sigma

    def remove(self, module: Any) -> None:
        """The weight of now becomes a parameter again."""
        with aten.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, target_sigma: Any) -> Tensor:
        """A v with u^T W v = target_sigma, for old checkpoints which kept u alone."""
        v = aten.mv(matrix.pinverse(), u)
        return v.mul_(target_sigma / aten.dot(u, aten.mv(matrix, v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Registers it. Raises RuntimeError if there is one for this name."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if hasattr(weight, "materialize"):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying spectral normalization"
            )
        with aten.no_grad():
            matrix = fn.reshape_weight_to_matrix(weight)
            u = F.normalize(weight.new_empty(matrix.size(0)).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(matrix.size(1)).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # modules that look for it before the first call find it
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        module._register_state_dict_hook(_WritesVersion(fn))
        module._register_load_state_dict_pre_hook(_ReadsOld(fn))
        return fn


class _WritesVersion:
    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class _ReadsOld:
    """Checkpoints without a version have u, and the weight divided already; v follows from them."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn
        self.__name__ = "spectral_norm_load_state_dict_pre_hook"

    def __call__(self, state_dict: Any, prefix: str, local_metadata: dict, strict: bool, *lists: list) -> None:
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version", None)
        if version is not None and version >= 1:
            return
        key = prefix + fn.name
        if version is None and all(key + s in state_dict for s in ("_orig", "_u", "_v")) and key not in state_dict:
            return  # of a version after all, whose metadata was lost
        if any(key + s not in state_dict for s in ("_orig", "", "_u")):
            if strict:
                lists[0].extend(key + s for s in ("_orig", "", "_u") if key + s not in state_dict)
            return
        with aten.no_grad():
            original, weight, u = state_dict[key + "_orig"], state_dict.pop(key), state_dict[key + "_u"]
            sigma = original.norm() / weight.norm()
            state_dict[key + "_v"] = fn._solve_v_and_rescale(fn.reshape_weight_to_matrix(original), u, sigma)


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides the parameter `name` by its largest singular value, as a matrix (dim `dim`, all else)."""
    SpectralNorm.apply(module, name, n_power_iterations, transposed_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Takes it away again. Raises ValueError if there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in ((module._state_dict_hooks, _WritesVersion), (module._load_state_dict_pre_hooks, _ReadsOld)):
        for key, hook in hooks.items():
            inner = getattr(hook, "hook", hook)
            if isinstance(inner, kind) and inner.fn.name == name:
                del hooks[key]
                break
    return module
