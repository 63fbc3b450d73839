"""Whether vmap may run an op once for each element, under the names that PyTorch's native module has for it."""

from aten.transforms import batching


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
