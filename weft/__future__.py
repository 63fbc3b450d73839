"""How Module.to and the like put new values into parameters."""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion",
    "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]
_switches = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """True: conversions put new Parameters into the module; False: they give the old ones new data."""
    _switches["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    return _switches["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """True: conversions and load_state_dict exchange the contents of the old and the new Parameter (`swap_tensors`)."""
    _switches["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    return _switches["swap"]
