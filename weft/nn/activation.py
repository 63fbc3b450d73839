"""Activations as modules: a table of the functions of weft.nn.functional with their settings."""

from __future__ import annotations

from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn import functional as F
from weft.nn.module import Module


def _activation(name: str, function: str, **settings: Any) -> type[Module]:
    """A Module class whose arguments, with their defaults, are `settings`, kept as attributes and passed by name."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        if len(args) > len(settings):
            raise TypeError(
                f"{name}.__init__() got unexpected arguments: it takes at most {len(settings)}, {len(args)} were given"
            )
        given = dict(zip(settings, args))
        for key, value in kwargs.items():
            if key not in settings or key in given:
                raise TypeError(f"{name}.__init__() got an unexpected or repeated argument '{key}'")
            given[key] = value
        for key, default in settings.items():
            setattr(self, key, given.get(key, default))

    def forward(self: Any, input: Tensor) -> Tensor:
        return call(input, **{key: getattr(self, key) for key in settings})

    def extra_repr(self: Any) -> str:
        shown = [key for key in settings if key != "inplace" or getattr(self, key)]
        return ", ".join(f"{key}={getattr(self, key)!r}" for key in shown)

    call = getattr(F, function)
    body = {
        "__init__": __init__,
        "forward": forward,
        "extra_repr": extra_repr,
        "__module__": __name__,
        "__doc__": f"`weft.nn.functional.{function}` as a module.",
    }
    return type(name, (Module,), body)


ReLU = _activation("ReLU", "relu", inplace=False)
ReLU6 = _activation("ReLU6", "relu6", inplace=False)
GELU = _activation("GELU", "gelu", approximate="none")
SiLU = _activation("SiLU", "silu", inplace=False)
Mish = _activation("Mish", "mish", inplace=False)
Sigmoid = _activation("Sigmoid", "sigmoid")
Tanh = _activation("Tanh", "tanh")
ELU = _activation("ELU", "elu", alpha=1.0, inplace=False)
CELU = _activation("CELU", "celu", alpha=1.0, inplace=False)
SELU = _activation("SELU", "selu", inplace=False)
LeakyReLU = _activation("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
Hardtanh = _activation("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _activation("Hardsigmoid", "hardsigmoid", inplace=False)
Hardswish = _activation("Hardswish", "hardswish", inplace=False)
Softplus = _activation("Softplus", "softplus", beta=1.0, threshold=20.0)
Softsign = _activation("Softsign", "softsign")
Softshrink = _activation("Softshrink", "softshrink", lambd=0.5)
Hardshrink = _activation("Hardshrink", "hardshrink", lambd=0.5)
Tanhshrink = _activation("Tanhshrink", "tanhshrink")
LogSigmoid = _activation("LogSigmoid", "logsigmoid")
GLU = _activation("GLU", "glu", dim=-1)
Softmax = _activation("Softmax", "softmax", dim=None)
LogSoftmax = _activation("LogSoftmax", "log_softmax", dim=None)
Softmin = _activation("Softmin", "softmin", dim=None)


class PReLU(Module):
    """max(0, x) + weight * min(0, x) with a learned weight, one or one a channel (dim 1)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(aten.full((num_parameters,), init, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
