"""Results that come later."""

from weft.jit.future import Future, collect_all, wait_all

__all__ = ["Future", "collect_all", "wait_all"]
