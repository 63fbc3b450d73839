"""The modules that the driver has loaded, each image once a device."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from aten import devices
from inductor import _runner

devices.after_wait.append(_runner.failed_checks)
_modules: dict[tuple[int, str], Any] = {}
_functions: dict[tuple[int, str, str, int], Any] = {}
_lock = threading.Lock()


def function(device: int, digest: str, name: str, shared: int, image_of: Callable[[str], bytes]) -> Any:
    """The function `name` of an image on a device, with so much shared memory; `image_of` is asked where it is not loaded yet."""
    from aten import _cuda

    key = (device, digest, name, shared)
    with _lock:
        if key not in _functions:
            if (device, digest) not in _modules:
                _modules[device, digest] = _cuda.Module(image_of(digest), device)
            _functions[key] = _modules[device, digest].function(name, shared)
        return _functions[key]
