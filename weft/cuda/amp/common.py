"""Whether mixed precision for a GPU has one."""

from importlib.util import find_spec

from weft.cuda.devices import is_available

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is neither a GPU nor torch_xla."""
    return not (is_available() or find_spec("torch_xla"))
