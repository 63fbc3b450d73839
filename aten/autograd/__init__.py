"""Derivatives: modes, the backward walk, hooks, user-defined functions, finite-difference checks."""

import sys
import types

from aten.autograd import graph
from aten.autograd.anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from aten.autograd.engine import backward, grad
from aten.autograd.function import Function, once_differentiable
from aten.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from aten.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from aten.autograd.inplace import record_inplace
from aten.autograd.products import linear_backward, matmul_backward
from aten.autograd.record import record
from aten.autograd.variable import Variable

_is_checkpoint_valid = Variable._execution_engine.is_checkpoint_valid


def __getattr__(name: str):
    if name in ("functional", "forward_ad", "profiler"):
        import importlib

        return importlib.import_module(f"aten.autograd.{name}")
    raise AttributeError(f"module 'aten.autograd' has no attribute {name!r}")


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
    "set_grad_enabled",
]


class _Package(types.ModuleType):
    """Whoever imports `gradcheck`, the module, under another name of this package has the import system put it in place of the
    function: the function stays. A module of someone else's may not take its place at all."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, types.ModuleType) and isinstance(self.__dict__.get(name), types.FunctionType)):
            super().__setattr__(name, value)
        elif value.__name__ != f"{__name__}.{name}":
            raise AttributeError(f"{name} is a function of {__name__}, which the module {value.__name__} may not replace")


sys.modules[__name__].__class__ = _Package
