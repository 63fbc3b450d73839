"""The compiled code of weft's files joined in one file: a start loads some hundred of them, and to find, open and read each takes
a third of its time.

It lies beside weft's .pyc files, is made of them, and is written at the end of a process that loaded others than it has. A part is
taken while its source is the very file that it was made of, and Python's own loader checks it as it checks a .pyc; what has changed
is found, loaded and compiled as ever. Nothing is written under `python -B`, nor where the folder cannot be written.
"""

from __future__ import annotations

import atexit
import marshal
import mmap
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from typing import Any

PACKAGES = ("aten", "dynamo", "inductor", "weft")
MANY = 16  # so many files that it lacks are worth writing it anew
_HEAD = b"weft joined " + MAGIC_NUMBER

Part = tuple[bool, int, int, int]  # whether the module is a package; when its source was last touched; where its .pyc lies


class _Loader(SourceFileLoader):
    """Loads a file whose .pyc is a part of the joined one."""

    def __init__(self, name: str, path: str, status: os.stat_result, data: Any, begin: int, end: int):
        super().__init__(name, path)
        self.status, self.joined, self.begin, self.end = status, data, begin, end

    def path_stats(self, path: Any) -> dict[str, Any]:
        return {"mtime": self.status.st_mtime, "size": self.status.st_size}

    def get_data(self, path: str) -> bytes:
        return self.joined[self.begin : self.end] if path.endswith(".pyc") else super().get_data(path)

    def get_code(self, name: str) -> Any:
        """What Python's own loader would give, which asks for the path and the state of the .pyc again, file by file."""
        if self.joined[self.begin + 4 : self.begin + 8] != b"\0\0\0\0":  # known by what the source says: for Python to compare
            return super().get_code(name)
        code = marshal.loads(memoryview(self.joined)[self.begin + 16 : self.end])
        if code.co_filename != self.path:  # the folder was moved
            return super().get_code(name)
        native = sys.modules.get("aten._native")
        if native is not None:
            native.untrack_constants(code)  # else two of five objects that the collector walks as the process ends
        return code


def is_stale(code: bytes, status: os.stat_result) -> bool:
    """Whether a .pyc that says when its source was written, and how long it was, is of another source."""
    written, size = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
    return code[8:16] != written.to_bytes(4, "little") + size.to_bytes(4, "little") and code[4:8] == b"\0\0\0\0"


class Joined:
    """The finder of the modules below `root` whose code the file has."""

    def __init__(self, root: str, file: str):
        self.root, self.file = root, file
        # how the names of .pyc files end, if they lie beside their sources
        self.ending = "" if sys.pycache_prefix else cache_from_source("x.py").removeprefix(os.path.join("__pycache__", "x"))
        self.parts: dict[str, Part] = {}
        self.data: Any = b""
        self.start = 0
        try:
            with open(file, "rb") as f:
                self.data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
            head, size = self.data[:16], int.from_bytes(self.data[16:24], "little")
            if head == _HEAD:
                self.start = 24 + size
                self.parts = marshal.loads(self.data[24 : self.start])
        except (OSError, ValueError, EOFError, TypeError):
            pass  # there is none that could be read

    def path_of(self, name: str, is_package: bool) -> str:
        path = f"{self.root}/{name.replace('.', '/')}"
        return f"{path}/__init__.py" if is_package else f"{path}.py"

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        part = self.parts.get(name)
        if part is None:
            return None
        is_package, touched, begin, end = part
        file = self.path_of(name, is_package)
        try:
            status = os.stat(file)
        except OSError:
            status = None
        at = self.start + begin
        if status is None or status.st_ctime_ns != touched or is_stale(self.data[at : at + 16], status):
            del self.parts[name]
            return None
        loader = _Loader(name, file, status, self.data, self.start + begin, self.start + end)
        spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
        spec.has_location = True
        folder, _, base = file.rpartition("/")
        if self.ending:
            spec.cached = f"{folder}/__pycache__/{base[:-3]}{self.ending}"
        if is_package:
            spec.submodule_search_locations = [folder]
        return spec

    def loaded(self) -> dict[str, bool]:
        """The modules of the packages that came from files below `root`, and whether each is a package."""
        found = {}
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in PACKAGES and getattr(module, "__name__", None) == name:
                is_package = hasattr(module, "__path__")
                if getattr(module, "__file__", None) == self.path_of(name, is_package):
                    found[name] = is_package
        return found

    def renew(self) -> None:
        """Write the file anew if it lacks many of the modules that are loaded."""
        loaded = self.loaded()
        if sys.dont_write_bytecode or sum(name not in self.parts for name in loaded) < MANY:
            return
        parts: dict[str, Part] = {}
        codes, place = [], 0
        for name, is_package in ({name: part[0] for name, part in self.parts.items()} | loaded).items():
            source = self.path_of(name, is_package)
            try:
                status = os.stat(source)
                with open(cache_from_source(source), "rb") as f:
                    code = f.read()
            except OSError:
                continue
            if is_stale(code, status):  # (of a file that this process did not load)
                continue
            codes.append(code)
            parts[name] = is_package, status.st_ctime_ns, place, place + len(code)
            place += len(codes[-1])
        index = marshal.dumps(parts)
        written = f"{self.file}.{os.getpid()}"
        try:
            with open(written, "wb") as f:
                f.write(b"".join([_HEAD, len(index).to_bytes(8, "little"), index, *codes]))
            os.replace(written, self.file)
        except OSError:
            pass  # the folder is not to be written: every start finds the files for itself


def install(package_file: str, cached: str | None) -> None:
    """Find the modules of weft in the joined file. Where its own code has no .pyc, nothing is joined."""
    if cached is not None:
        folder, name = os.path.split(cached)
        found = Joined(os.path.dirname(os.path.dirname(package_file)), f"{folder}/{name.replace('__init__', 'joined')}s")
        sys.meta_path.insert(0, found)  # type: ignore[arg-type]
        atexit.register(found.renew)
