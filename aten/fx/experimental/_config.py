"""Settings of symbolic sizes under PyTorch's name: `weft.fx.experimental._config.use_duck_shape = False`."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

use_duck_shape = True  # with dynamic=True, sizes that are equal as a program is compiled are one symbol, and guarded to be


@contextlib.contextmanager
def patch(**changes: Any) -> Iterator[None]:
    """The settings are these ones within a `with` block, or in the calls of the function that it decorates."""
    settings = sys.modules[__name__]
    before = {name: getattr(settings, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(settings, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(settings, name, value)
