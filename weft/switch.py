"""`weft.as_torch()`: while it is open, `import torch` and `import torch.nn.functional` … give weft, in third-party code too."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from aten import _native
from weft.aliases import _AliasLoader
from weft.version import __version__

_DISTRIBUTION = f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\nSummary: weft under the name torch\n"


_NAMES = {"torch": "weft", "functorch": "weft.functorch"}


class _Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata.version("torch")` reads."""

    def read_text(self, filename: str) -> str | None:
        return {"METADATA": _DISTRIBUTION, "top_level.txt": "torch\n"}.get(filename)

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(f"{path}: weft under the name torch has no installed files")


class _TorchFinder:
    """Finds `torch`, `functorch` and what is below them as the parts of weft of the same name; what weft lacks is not found."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        top, dot, rest = fullname.partition(".")
        if top not in _NAMES:
            return None
        real = _NAMES[top] + dot + rest
        if real in sys.modules:
            package = hasattr(sys.modules[real], "__path__")
        else:
            found = importlib.util.find_spec(real)
            if found is None:
                return None
            package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, _AliasLoader(real), is_package=package)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        if context.name is None or context.name.lower() == "torch":
            yield _Distribution()


def _say(name: str) -> None:
    """What libraries ask for, to tell whose the arrays are that they are given: the module's name, and the text of a dtype."""
    sys.modules["weft"].__name__ = name
    _native.say_torch(name == "torch")


class _Switch:
    """An open `as_torch()`. Leaving the `with` block, or `close()`, undoes it; of several the last one does."""

    _finder: Any = None
    _opened = 0

    def __init__(self) -> None:
        known = sys.modules.get("torch")
        if known is not None and known is not sys.modules["weft"]:
            where = getattr(known, "__file__", None) or "an unknown place"
            raise RuntimeError(
                f"weft.as_torch(): another torch is already imported, from {where}; call it before anything imports torch"
            )
        if _Switch._opened == 0:
            _Switch._finder = _TorchFinder()
            sys.meta_path.insert(0, _Switch._finder)
            _say("torch")
        _Switch._opened += 1
        self._is_open = True

    def close(self) -> None:
        """Take the name away again. What was imported meanwhile keeps the parts of weft that it has."""
        if not self._is_open:
            return
        self._is_open = False
        _Switch._opened -= 1
        if _Switch._opened == 0:
            sys.meta_path.remove(_Switch._finder)
            _say("weft")
            for name in [n for n in sys.modules if n.partition(".")[0] in _NAMES]:
                del sys.modules[name]

    def __enter__(self) -> ModuleType:
        return sys.modules["weft"]

    def __exit__(self, *exc: Any) -> None:
        self.close()


def as_torch() -> _Switch:
    """From now on, or within `with weft.as_torch() as torch:`, `import torch` means weft.

    For programs and libraries that are written for PyTorch (`import torch`, `from torch import nn`,
    `importlib.metadata.version("torch")`). Nothing happens unless it is called. Raises RuntimeError if another module
    of that name is imported already.
    """
    return _Switch()
