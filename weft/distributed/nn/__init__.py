"""Collectives that gradients go through."""

from weft.distributed.nn.functional import *  # noqa: F403
from weft.distributed.nn.functional import __all__ as __all__
