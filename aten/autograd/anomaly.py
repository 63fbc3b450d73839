"""detect_anomaly: an error in backward names the call of forward that made the node, and gradients that are NaN are errors."""

import warnings
from typing import Any

from aten import _native
from aten._native import Tensor


class _Switch:
    on = False
    check_nan = True


def is_anomaly_enabled() -> bool:
    """Whether anomalies are detected."""
    return _Switch.on


def is_anomaly_check_nan_enabled() -> bool:
    """Whether NaN gradients are errors while anomalies are detected."""
    return _Switch.check_nan


def _watch(node: Any, what: Any) -> None:
    if what is None:
        import traceback  # here: what only a search for anomalies loads

        node.metadata["traceback_"] = traceback.format_stack()[:-1]
        return
    if isinstance(what, BaseException):
        _report(node)
        return
    if not _Switch.check_nan:
        return
    for i, grad in enumerate(what):
        while isinstance(grad, Tensor) and _native.is_tracer(grad):  # of a batch, whichever element
            inside = grad.level.read(grad)  # type: ignore[attr-defined]
            grad = getattr(inside, "value", getattr(inside, "primal", None))
        if isinstance(grad, Tensor) and (grad.dtype.is_floating_point or grad.dtype.is_complex):
            if bool(grad.detach().isnan().any()):
                _report(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def _report(node: Any) -> None:
    lines = node.metadata.get("traceback_")
    if lines is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during forward "
            f"pass for more "
            "information.",
            stacklevel=2,
        )
        return
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(lines)}", stacklevel=2
    )


def _switch(on: bool, check_nan: bool) -> None:
    _Switch.on, _Switch.check_nan = on, check_nan
    _native.set_anomaly_watcher(_watch if on else None)


class set_detect_anomaly:
    """Switches the detection of anomalies at once; as a context manager, restores what was before at the end."""

    def __init__(self, mode: bool, check_nan: bool = True):
        self.before = _Switch.on, _Switch.check_nan
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _switch(*self.before)


class detect_anomaly:
    """Within the block each node remembers the call that made it: an error of its backward warns with that traceback, and (with
    check_nan) a NaN that it gives raises RuntimeError. Slow: for looking into a fault."""

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = _Switch.on, _Switch.check_nan
        _switch(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _switch(*self.before)


__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]
