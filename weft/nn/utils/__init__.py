"""Helpers of training loops and of modules: gradients, parameters as one vector, weights made of other tensors, pruning."""

from importlib import import_module as _import_module
from typing import Any as _Any

# here, not on first use: files of the same name would else take the functions' place
from weft.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from weft.nn.utils.weight_norm import remove_weight_norm, weight_norm

_HOME = {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
}
_FILE = {name: file for file, names in _HOME.items() for name in names.split()}
_PARTS = ("parametrizations", "parametrize", "prune", "rnn", "stateless")
__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]
__all__ += [*_FILE, *_PARTS]


def __getattr__(name: str) -> _Any:
    if name in _PARTS or name in _HOME:
        return _import_module(f"{__name__}.{name}")
    if name not in _FILE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module(f"{__name__}.{_FILE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
