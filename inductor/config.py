"""Settings of the compiler itself. Those of users are in `aten.settings`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Config:
    """What tests and experiments change.

    exact      every op rounds to its dtype, and matrix products run as ops
    fuse       off: every buffer gets a kernel of its own
    templates  off: matrix products run as ops
    """

    exact: bool = False
    fuse: bool = True
    templates: bool = True


config = Config()
