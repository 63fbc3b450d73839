"""The switch of attention layers' special path of inference, which weft has no need of: set, read, and without effect."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """What was set; True at first."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    global _fastpath
    _fastpath = value
