"""Where saved tensors are put: on the device that they were saved from, that the caller says, or that a package knows of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aten
from aten import Tensor

_packages: list[tuple[int, Callable[[Any], str | None], Callable[[Any, str], Any]]] = []


def register_package(priority: int, tagger: Callable[[Any], str | None], deserializer: Callable[[Any, str], Any]) -> None:
    """tagger(storage) → the name of its place, or None; deserializer(storage, place) → the storage there, or None.

    Those of the lowest priority are asked first, all before the CPU and cuda devices.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The name under which a storage's place is saved."""
    for _, tagger, _ in _packages:
        place = tagger(storage)
        if place:
            return place
    return str(storage.device)


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage of the CPU where it was when it was saved. Raises RuntimeError for a device that this machine lacks."""
    for _, _, deserializer in _packages:
        found = deserializer(storage, location)
        if found is not None:
            return found
    flat = aten.empty(0, dtype=aten.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
    return _default(flat, location).untyped_storage()


def _to(t: Tensor, device: Any) -> Tensor:
    device = aten.device(device) if isinstance(device, str) else device
    return t if device.type == "cpu" else t.to(device)


def _default(t: Tensor, location: str) -> Tensor:
    for _, _, deserializer in _packages:
        found = deserializer(t.untyped_storage(), location)
        if found is not None:
            return aten.empty(0, dtype=t.dtype, device=found.device).set_(found, t.storage_offset(), t.shape, t.stride())
    kind = location.partition(":")[0]
    if kind in ("cpu", "meta"):
        return _to(t, location)
    if kind == "cuda" and aten._native.device_count("cuda") > 0:
        return _to(t, location)
    raise RuntimeError(
        f"Attempting to deserialize object on a {kind.upper()} device but weft.cuda.is_available() is False. If you are "
        "running on a CPU-only machine, please use load with map_location='cpu' to map your storages to the CPU."
    )


def placing(map_location: Any) -> Callable[[Tensor, str], Tensor]:
    """(tensor in the CPU's memory, where it was saved) → the tensor where it is wanted."""

    if map_location is None:
        return _default
    if isinstance(map_location, dict):
        return lambda t, location: _default(t, str(map_location.get(location, location)))
    if isinstance(map_location, (str, aten.Device)):
        return lambda t, location: _to(t, map_location)
    if callable(map_location):

        def ask(t: Tensor, location: str) -> Tensor:
            wanted = map_location(t.untyped_storage(), location)
            return _default(t, location) if wanted is None else _to(t, wanted.device)

        return ask
    raise TypeError(f"map_location must be a device, a str, a dict or a function, got {type(map_location).__name__}")
