"""Switches about reproducible results and warnings.

Every kernel of weft gives the same bits on each run, whatever the number of threads: sums have one order. So the switches
are kept and answered, and no op raises or warns under them.
"""

from __future__ import annotations

import warnings
from typing import Any

from aten import _native, errors
from aten.ops import methods

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")
_AMBIENT_PRECISION = 3 << 3  # WEFT_AMBIENT_MATMUL_PRECISION of weft.h
_algorithms = {"mode": 0, "warn_only": 0}
_precision = {"matmul": "highest"}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for algorithms with the same result on each run, which all of weft's are."""
    if not isinstance(mode, bool):
        raise TypeError(f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}")
    if not isinstance(warn_only, bool):
        raise TypeError(f"_set_deterministic_algorithms(): argument 'warn_only' must be bool, not {type(warn_only).__name__}")
    _set(0 if not mode else 1 if warn_only else 2, warn_only)


def _set(mode: int, warn_only: bool) -> None:
    _algorithms.update(mode=mode, warn_only=int(warn_only))
    methods.grown_memory_is_filled = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether they were asked for, with errors or warnings."""
    return _algorithms["mode"] != 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether they were asked for with `warn_only`."""
    return bool(_algorithms["warn_only"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default", 1 or "warn", 2 or "error"."""
    if isinstance(debug_mode, bool) or not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
        debug_mode = _MODES.index(debug_mode)
    elif debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _set(debug_mode, debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2."""
    return _algorithms["mode"]


def set_float32_matmul_precision(precision: str) -> None:
    """"highest", "high" or "medium": how exact products of float32 must be. Those of the CPU are always the highest;
    on a CUDA device this thread's are TF32, on tensor cores, for the other two."""
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of {', '.join(map(repr, _PRECISIONS))}; set_float32_matmul_precision did nothing",
            stacklevel=2,
        )
        return
    _precision["matmul"] = precision
    _native.set_ambient_bits(_AMBIENT_PRECISION, _PRECISIONS.index(precision) << 3)


def get_float32_matmul_precision() -> str:
    """What was set."""
    return _precision["matmul"]


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that are given once a process are given each time."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    errors.set_warn_always(b)


def is_warn_always_enabled() -> bool:
    """What was set."""
    return errors.warns_always()


def deterministic_state() -> dict[str, Any]:
    """All of it, for reports."""
    return {"mode": _MODES[_algorithms["mode"]], "matmul": _precision["matmul"], "warn_always": errors.warns_always()}
