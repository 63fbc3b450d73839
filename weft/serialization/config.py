"""Settings of `save` and `load`."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator

_settings = {"crc32": True, "mmap": mmap.MAP_PRIVATE, "skip": False}


def get_crc32_options() -> bool:
    """What was set; True at first."""
    return _settings["crc32"]


def set_crc32_options(compute_crc32: bool) -> None:
    """Kept and answered: files have checksums whatever is set, for what reads zip files asks for them."""
    _settings["crc32"] = compute_crc32


def get_default_mmap_options() -> int:
    """How `load(mmap=True)` maps files: `mmap.MAP_PRIVATE` at first."""
    return _settings["mmap"]


class set_default_mmap_options:
    """`load(mmap=True)` maps so from now on, or within a `with` block: MAP_SHARED lets writes reach the file.

    Raises ValueError for other flags.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        self.before, _settings["mmap"] = _settings["mmap"], flags

    def __enter__(self) -> None:
        """It is set already."""

    def __exit__(self, *exc: object) -> None:
        _settings["mmap"] = self.before


@contextlib.contextmanager
def skip_data(materialize_fake_tensors: bool = False) -> Iterator[None]:
    """Within the block `save` leaves room for the bytes of tensors without writing them, and `load` reads none."""
    before, _settings["skip"] = _settings["skip"], True
    try:
        yield
    finally:
        _settings["skip"] = before


def skips() -> bool:
    """Whether bytes of tensors are neither written nor read."""
    return bool(_settings["skip"])
