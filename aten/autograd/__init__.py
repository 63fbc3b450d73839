"""Derivatives: modes, the backward walk, hooks, user-defined functions, finite-difference checks."""

import importlib
import sys
import types

from aten.autograd import graph
from aten.autograd.anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from aten.autograd.engine import backward, grad
from aten.autograd.function import Function, once_differentiable
from aten.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from aten.autograd.inplace import record_inplace
from aten.autograd.record import record
from aten.autograd.variable import Variable
from aten.autograd.whole import linear_backward, matmul_backward

_CHECKS = ("GradcheckError", "gradcheck", "gradgradcheck")  # looked up on first use
_is_checkpoint_valid = Variable._execution_engine.is_checkpoint_valid


_PARTS = ("functional", "forward_ad", "profiler")


def __getattr__(name: str):
    if name in _PARTS:
        return importlib.import_module(f"aten.autograd.{name}")
    if name in _CHECKS:
        return getattr(importlib.import_module("aten.autograd.gradcheck"), name)
    raise AttributeError(f"module 'aten.autograd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, *_CHECKS})


__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "detect_anomaly",
    "graph",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
    "backward",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "linear_backward",
    "matmul_backward",
    "no_grad",
    "once_differentiable",
    "record",
    "record_inplace",
    "is_multithreading_enabled",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class _Package(types.ModuleType):
    """Whoever imports `gradcheck`, the module, has the import system put it in place of the function of that name: the function
    stays. A module of someone else's may not take its place at all."""

    def __setattr__(self, name: str, value: object) -> None:
        function = isinstance(value, types.ModuleType) and value.__dict__.get(name)
        if isinstance(function, types.FunctionType) and function.__module__ == f"{__name__}.{name}":
            value = function
        if isinstance(value, types.ModuleType) and isinstance(self.__dict__.get(name), types.FunctionType):
            raise AttributeError(f"{name} is a function of {__name__}, which the module {value.__name__} may not replace")
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
