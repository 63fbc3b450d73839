"""Modes of weft.compile: what each one sets of the options (`aten.settings`), and PyTorch's names of options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aten import settings

MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"combo_kernels": True, "cudagraphs": True},
    "max-autotune": {"max_autotune": True, "combo_kernels": True, "cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True},
}


def chosen(mode: str | None = None, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The options that a mode stands for, or those given. Raises RuntimeError for an unknown mode, for an option that is
    not declared or has another type, and for both at once."""
    if mode is not None and options:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    return settings.checked_options(MODES[mode] if mode is not None else ours(options) if options else {})


def ours(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options under our names, without those of PyTorch's that decide nothing here (`inductor.config`). Raises RuntimeError for
    one of these whose value has another type than PyTorch's default."""
    if all(name in settings.declared for name in options):
        return dict(options)
    from inductor import config  # a start has no use for it

    found = {}
    for given, value in options.items():
        name = given.replace("-", "_") if isinstance(given, str) else given
        if name in config.KEPT or name in config.OF_CACHES:  # whether a cache is used is said for all compilations, not for one
            default = config.KEPT.get(name, True)
            if default is not None and type(value) is not type(default):
                raise RuntimeError(f"Unexpected type of option {given}, got {type(value)} should be {type(default)}")
        else:
            found[config.OTHER_NAMES.get(name, given)] = value
    return found


def list_options() -> list[str]:
    """The names that `weft.compile(f, options={…})` knows; `aten.settings.declared[name].doc` says what each is."""
    return [s.name for s in settings.declared.values() if s.option]


def list_mode_options(mode: str | None = None) -> dict[str, Any]:
    """What a mode sets; without one, all modes by name."""
    return chosen(mode) if mode is not None else {name: dict(given) for name, given in MODES.items()}
