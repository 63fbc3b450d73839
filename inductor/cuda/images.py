"""Triton functions → images that the driver loads, from the cache on disk if they are there.

An entry of the cache is one function for one device: its image among the artefacts, verified as shared objects are, and its
source and what a launch must know beside it. The key has all that decides the image: text, types, constants, promises,
options, the exact capability (images of one are not loaded by another), Triton's version, and which assembler the driver asks for.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

from inductor import _runner
from inductor.cache import store as cache_store
from inductor.codegen.toolchain import DeviceCompileError
from inductor.codegen.triton_function import Function
from inductor.counters import counters
from inductor.cuda.pool import pool


@dataclass(frozen=True)
class Request:
    """One function to be compiled: `signature` has Triton's types of its parameters in order, `divisible` those of which a launch
    passes multiples of 16; `capability` is 90 for 9.0, `driver` the version that the driver states (12080), 0 where there is
    none."""

    name: str
    source: str
    signature: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, int], ...]
    divisible: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]
    capability: int
    driver: int = 0

    def data(self) -> dict[str, Any]:
        """The request as dicts and numbers."""
        made = asdict(self)
        return {**made, **{k: dict(made[k]) for k in ("signature", "constants", "options")}}


@dataclass(frozen=True)
class Image:
    """What the driver loads, and how its function is launched."""

    name: str
    digest: str
    data: bytes
    threads: int
    shared: int


def request(f: Function, capability: int, driver: int = 0, unaligned: frozenset[str] = frozenset(), even: bool = True) -> Request:
    """The request for a function. `unaligned`: buffers whose address 16 may not divide; `even`: whether 16 divides its sizes."""
    divisible = tuple(
        p.name for p in f.parameters if p.divides and (p.source not in unaligned if isinstance(p.source, str) else even)
    )
    signature = tuple((p.name, p.kind) for p in f.parameters)
    return Request(f.name, f.source, signature, f.constants, divisible, tuple(f.options().items()), capability, driver)


@functools.cache
def triton_version() -> str:
    """The version of Triton that is installed."""
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def key_of(r: Request) -> str:
    """The name of its entry in the cache."""
    driver = "cuda 12" if 0 < r.driver < 13000 else "any driver"
    data = {**r.data(), "driver": driver, "triton": triton_version()}
    return _runner.sha256(b"triton\0" + json.dumps(data, sort_keys=True).encode())


def compile_in_pool(r: Request) -> Future:
    """The future (image, metadata) of Triton's compiler."""
    return pool().submit(r.data())


compiler: Callable[[Request], Future] = compile_in_pool  # a simulated device puts another here


class Pending:
    """An image that may still be being made."""

    def __init__(self, r: Request):
        self.request = r
        self.key = key_of(r)
        self.image = _stored(self.key)
        self.future = None if self.image is not None else compiler(r)

    def wait(self) -> Image:
        """The image. Raises DeviceCompileError with Triton's reason."""
        if self.image is None:
            assert self.future is not None
            data, metadata = self.future.result()
            for scratch in ("global_scratch_size", "profile_scratch_size"):
                if metadata.get(scratch):
                    raise DeviceCompileError(f"{self.request.name} needs {metadata[scratch]} bytes of scratch memory")
            counters["triton_compiles"] += 1
            threads = 32 * metadata["num_warps"]
            self.image = Image(metadata["name"], _runner.sha256(data), data, threads, metadata["shared"])
            self._save(metadata)
        return self.image

    def _save(self, metadata: dict[str, Any]) -> None:
        store = cache_store.current()
        image = self.image
        if store is not None and image is not None:
            known = {k: v for k, v in metadata.items() if isinstance(v, bool | int | str)}
            manifest = {"name": image.name, "image": image.digest, "threads": image.threads, "shared": image.shared}
            store.save(self.key, {**manifest, "metadata": known, "request": self.request.data()}, [image.data])


def _stored(key: str) -> Image | None:
    store = cache_store.current()
    return store.load(key, _read) if store is not None else None


def _read(manifest: dict, path_of: Callable[[str], str]) -> Image:
    with open(path_of(manifest["image"]), "rb") as f:
        data = f.read()
    return Image(manifest["name"], manifest["image"], data, manifest["threads"], manifest["shared"])


_pending: dict[str, Pending] = {}


def pending(r: Request) -> Pending:
    """The image of a request, which is compiled once a process."""
    key = key_of(r)
    found = _pending.get(key)
    if found is None or (found.future is not None and found.future.done() and found.future.exception() is not None):
        found = _pending[key] = Pending(r)
    return found
