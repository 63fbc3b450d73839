"""Channels of groups, interleaved."""

from __future__ import annotations

from weft.nn.layer import layer
from weft.nn.module import Module


@layer("channel_shuffle", "groups: int")
class ChannelShuffle(Module):
    """(N, C, *): the first channels of all groups, then the second ones, … (Zhang et al. 2018)."""
