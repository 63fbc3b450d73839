"""Modes of weft.compile: what each one sets of the options (`aten.settings`)."""

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
    return settings.checked_options(MODES[mode] if mode is not None else options or {})


def list_options() -> list[str]:
    """The names that `weft.compile(f, options={…})` knows; `aten.settings.declared[name].doc` says what each is."""
    return [s.name for s in settings.declared.values() if s.option]


def list_mode_options(mode: str | None = None) -> dict[str, Any]:
    """What a mode sets; without one, all modes by name."""
    return chosen(mode) if mode is not None else {name: dict(given) for name, given in MODES.items()}
