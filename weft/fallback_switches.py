"""Whether vmap may run an op once for each element, under the names that PyTorch's native module (torch._C._functorch) has for
it; those about levels are in `level_names.py`."""

from typing import Any

from aten.transforms import batching


def __getattr__(name: str) -> Any:
    from weft import level_names

    if name in ("TransformType", "get_unwrapped") or name.startswith(("is_", "maybe_get_")):
        return getattr(level_names, name)
    raise AttributeError(f"module 'torch._C._functorch' has no attribute {name!r}")


def _is_vmap_fallback_enabled() -> bool:
    """Whether ops without a batching rule run once for each element."""
    return batching.loops_allowed()


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Let them, or have them raise RuntimeError."""
    batching.allow_loops(enabled)


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Whether vmap says every time that an op runs once for each element."""
    return batching.warns_of_loops()


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Say so every time, or once an op."""
    batching.warn_of_loops(enabled)
