"""Calls of other processes, of which there are none."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["init_rpc", "is_available", "shutdown"]


def is_available() -> bool:
    """False."""
    return False


def init_rpc(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: weft runs in one process."""
    raise RuntimeError("weft runs in one process: there is nobody to call")


def shutdown(graceful: bool = True, timeout: int = 0) -> NoReturn:
    """Raises RuntimeError: nothing was opened."""
    raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")
