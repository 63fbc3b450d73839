"""The cache on disk: entries found by key, their artefacts by content.

    <folder>/entries/KEY     the first line is the SHA-256 of the rest, which is JSON: the manifest
    <folder>/objects/DIGEST  a library; its name is the SHA-256 of its bytes

The folder is created 0700 and refused when another user owns it or others may write to it; a file likewise. Files are
written under a private name and renamed, so a reader sees a whole file or none. An artefact is hashed through the
descriptor that is loaded afterwards. Whatever is wrong is a miss and one counted warning, never an error.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from typing import Any

from aten import errors, logs, settings
from inductor import _runner
from inductor.counters import counters

log = logs.get("cache")

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Unusable(Exception):
    """Why a folder or a file of the cache cannot be used. The text is a sentence for the user."""


def folder() -> str:
    """Where the cache lies: `settings.cache_dir`, else `weft` in the user's cache folder."""
    if settings.cache_dir:
        return settings.cache_dir
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "weft")


def _trusted(status: os.stat_result, what: str) -> None:
    if status.st_uid != os.geteuid():
        raise Unusable(f"{what} belongs to another user")
    if status.st_mode & 0o022:
        raise Unusable(f"{what} can be written by others: chmod go-w it")


def _open_folder(path: str) -> int:
    fd = os.open(path, _READ | os.O_DIRECTORY)
    try:
        _trusted(os.fstat(fd), path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _read(folder_fd: int, name: str, what: str) -> tuple[int, bytes] | None:
    """(descriptor, contents) of a file, or None if there is none. The caller closes the descriptor."""
    try:
        fd = os.open(name, _READ, dir_fd=folder_fd)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{what} {name} is not a file")
        _trusted(status, f"{what} {name}")
        parts = []
        while part := os.read(fd, 1 << 20):
            parts.append(part)
        return fd, b"".join(parts)
    except BaseException:
        os.close(fd)
        raise


def _write(folder_fd: int, name: str, data: bytes) -> None:
    private = f".{name[:16]}.{os.getpid()}.{os.urandom(4).hex()}"
    fd = os.open(private, _WRITE, 0o600, dir_fd=folder_fd)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)
        os.rename(private, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except BaseException:
        os.unlink(private, dir_fd=folder_fd)
        raise


def _complain(what: str, error: BaseException) -> None:
    counters["cache_errors"] += 1
    log(f"{what}: {error}")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    errors.warn_once(
        f"the compilation cache in {folder()}: {reason}. Compiling without it; WEFT_CACHE_DIR chooses another."
    )


class Store:
    """The cache in one folder, which is made and opened on first use."""

    def __init__(self, path: str):
        self.path = path
        self.used: set[str] = set()  # keys of entries that this process has written or loaded
        self._folders: tuple[int, int] | None = None

    def _open(self, create: bool) -> tuple[int, int]:
        """Descriptors of (entries, objects). Raises OSError or Unusable; FileNotFoundError if there is no cache and
        `create` is false."""
        if self._folders is not None:
            return self._folders
        if create:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        parts = []
        for path in (self.path, os.path.join(self.path, "entries"), os.path.join(self.path, "objects")):
            if create:
                try:
                    os.mkdir(path, 0o700)
                except FileExistsError:
                    pass
            parts.append(_open_folder(path))
        os.close(parts[0])
        self._folders = parts[1], parts[2]
        return self._folders

    def load(self, key: str, build: Callable[[dict, Callable[[str], str]], Any]) -> Any:
        """What `build(manifest, path_of)` makes of the entry `key`; None if there is none that can be used.

        `path_of(digest)` is a path through which that artefact, which has been read and has this digest, can be loaded
        while `build` runs. A ValueError or KeyError of `build` means that the manifest is corrupt.
        """
        descriptors: list[int] = []
        try:
            entries, objects = self._open(create=False)
            found = _read(entries, key, "entry")
            if found is None:
                return None
            descriptors.append(found[0])
            digest, _, body = found[1].partition(b"\n")
            if digest.decode("ascii", "replace") != _runner.sha256(body):
                raise Unusable(f"entry {key[:16]} is damaged")

            def path_of(digest: str) -> str:
                artefact = _read(objects, digest, "artefact")
                if artefact is None:
                    raise Unusable(f"artefact {digest[:16]} is missing")
                descriptors.append(artefact[0])
                if _runner.sha256(artefact[1]) != digest:
                    raise Unusable(f"artefact {digest[:16]} is damaged")
                return f"/proc/self/fd/{artefact[0]}"

            built = build(json.loads(body), path_of)
            for fd in descriptors:
                _touch(fd)
            self.used.add(key)
            return built
        except FileNotFoundError:
            return None
        except (OSError, Unusable, ValueError, KeyError, TypeError) as e:
            _complain(f"entry {key[:16]}", e)
            return None
        finally:
            for fd in descriptors:
                os.close(fd)

    def save(self, key: str, manifest: dict, artefacts: list[bytes]) -> bool:
        """Keep an entry; the manifest names artefacts by digest. False, after a warning, if that was not possible."""
        try:
            entries, objects = self._open(create=True)
            for data in artefacts:
                _write(objects, _runner.sha256(data), data)
            body = json.dumps(manifest, separators=(",", ":")).encode()
            _write(entries, key, _runner.sha256(body).encode() + b"\n" + body)
            self.used.add(key)
            self.trim(settings.cache_size << 20)
            return True
        except (OSError, Unusable) as e:
            _complain("saving", e)
            return False

    def collect(self, key: str, files: dict[str, bytes]) -> bool:
        """Add the files of an entry, "entries/KEY" and "objects/DIGEST", to `files`. False if it is gone."""
        entries, objects = self._open(create=False)
        found: dict[str, bytes] = {}
        for fd, kind, names in ((entries, "entries", [key]), (objects, "objects", None)):
            for name in names if names is not None else self._named(found[f"entries/{key}"]):
                read = _read(fd, name, kind)
                if read is None:
                    return False
                os.close(read[0])
                found[f"{kind}/{name}"] = read[1]
        files.update(found)
        return True

    def _named(self, entry: bytes) -> list[str]:
        """The artefacts that are there and that an entry names."""
        _, objects = self._open(create=False)
        text = entry.decode()
        return [name for name in os.listdir(objects) if not name.startswith(".") and name in text]

    def take_in(self, files: dict[str, bytes]) -> None:
        """Write files that `collect` gave. Raises Unusable for a file whose contents do not fit its name."""
        entries, objects = self._open(create=True)
        for path, data in files.items():
            kind, _, name = path.partition("/")
            whole = data.partition(b"\n")[2] if kind == "entries" else data
            digest = data.partition(b"\n")[0].decode("ascii", "replace") if kind == "entries" else name
            if kind not in ("entries", "objects") or not name.isalnum() or _runner.sha256(whole) != digest:
                raise Unusable(f"{path} is damaged")
            _write(entries if kind == "entries" else objects, name, data)

    def trim(self, limit: int) -> None:
        """Remove the least recently used files until what is left takes at most `limit` bytes."""
        files = []
        for fd in self._open(create=False):
            with os.scandir(fd) as items:
                for item in items:
                    try:
                        status = item.stat(follow_symlinks=False)
                    except FileNotFoundError:  # renamed or removed by another process meanwhile
                        continue
                    files.append((status.st_mtime_ns, status.st_size, fd, item.name))
        total = sum(f[1] for f in files)
        if total <= limit:
            return
        for _, size, fd, name in sorted(files):
            if total <= limit * 3 // 4:
                break
            try:
                os.unlink(name, dir_fd=fd)
            except FileNotFoundError:
                pass
            total -= size
        log(f"trimmed to {total} bytes")

    def close(self) -> None:
        for fd in self._folders or ():
            os.close(fd)
        self._folders = None


def _touch(fd: int) -> None:
    """Mark as just used; on a read-only file system the order of removal does not matter."""
    try:
        os.utime(fd)
    except OSError:
        pass


_stores: dict[str, Store] = {}


def current() -> Store | None:
    """The store that settings ask for; None if the cache is off."""
    if not settings.cache:
        return None
    path = folder()
    if path not in _stores:
        _stores[path] = Store(path)
    return _stores[path]
