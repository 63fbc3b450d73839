"""Other names of packages: `weft._dynamo.config` is the module object `dynamo.config`, never a second import of its file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

REACHED_THROUGH = ("aten.autograd", "aten.sparse")  # programs reach the package through these, whose files import it in PyTorch


class _AliasLoader:
    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.target)
        if self.target == "dynamo":
            import_module("weft.names_of_dynamo")
        self.spec = module.__spec__  # the import system puts the alias's own there next
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec
        if self.target in REACHED_THROUGH:
            vars(module)["torch"] = sys.modules["weft"]


class _AliasFinder:  # no base class: importlib.abc takes longer to import than all of this file
    def __init__(self, prefixes: dict[str, str]) -> None:
        self.prefixes = prefixes

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith("weft."):
            return None
        for alias, real in self.prefixes.items():
            if fullname == alias or fullname.startswith(alias + "."):
                return ModuleSpec(fullname, _AliasLoader(real + fullname[len(alias) :]))
        return None


def install(prefixes: dict[str, str]) -> None:
    """Makes `alias` and everything below it import as `real`, for each pair of `prefixes`."""
    sys.meta_path.insert(0, _AliasFinder(prefixes))
