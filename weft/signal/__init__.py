"""weft.signal: windows."""
from weft.signal import windows

__all__ = ["windows"]
