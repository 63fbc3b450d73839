"""What this process has compiled, or taken from the cache, as bytes that another machine's cache can take in."""

from __future__ import annotations

import io
import json
import zipfile
from typing import NamedTuple

from aten import errors
from inductor.cache import store

_FORMAT = "weft cache artifacts 1"


class CacheInfo(NamedTuple):
    """The keys of the entries."""

    inductor_artifacts: list[str]


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """The entries of the cache that this process has written or used, with their libraries, and which they are; None if there are
    none. The libraries are machine code: they run where the cache would use them, on processors of the same kind."""
    here = store.current()
    files: dict[str, bytes] = {}
    used = [] if here is None else sorted(key for key in here.used if here.collect(key, files))
    if not used:
        return None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = json.dumps([_FORMAT, used]).encode()
        for name, data in sorted(files.items()):
            archive.writestr(name, data)
    return packed.getvalue(), CacheInfo(used)


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Put what `save_cache_artifacts` gave into this machine's cache; None, after a warning, for other bytes. They hold code that
    will run: only take them from whom you would take a program."""
    try:
        with zipfile.ZipFile(io.BytesIO(serialized_artifacts)) as archive:
            form, used = json.loads(archive.comment)
            if form != _FORMAT:
                raise ValueError(form)
            files = {name: archive.read(name) for name in archive.namelist()}
        if (here := store.current()) is None:
            raise store.Unusable("the cache is off")
        here.take_in(files)
    except (zipfile.BadZipFile, ValueError, KeyError, store.Unusable, OSError) as e:
        errors.warn_once(f"these are no cache artifacts that can be taken in: {e}")
        return None
    return CacheInfo(list(used))
