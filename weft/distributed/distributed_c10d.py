"""The collectives under the name of the file that PyTorch keeps them in."""

from __future__ import annotations

from weft.distributed import *  # noqa: F403
from weft.distributed import GroupMember as GroupMember
from weft.distributed import ProcessGroup, _world


def _get_default_group() -> ProcessGroup:
    """The group of all processes. Raises ValueError if none is open."""
    return _world()
