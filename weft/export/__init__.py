"""Programs without Python: `export(module, args)` captures a call whole, as an ExportedProgram that can be saved."""

import importlib
import sys
import types

_WHERE = {
    "Dim": "dynamic_shapes", "dims": "dynamic_shapes", "ShapesCollection": "dynamic_shapes", "export": "exported_program",
    "export_for_training": "exported_program", "ExportedProgram": "exported_program", "ModuleCallEntry": "exported_program",
    "ModuleCallSignature": "exported_program", "ExportGraphSignature": "graph_signature", "InputKind": "graph_signature",
    "InputSpec": "graph_signature", "OutputKind": "graph_signature", "OutputSpec": "graph_signature",
    "TensorArgument": "graph_signature", "ConstantArgument": "graph_signature", "save": "files", "load": "files",
    "unflatten": "unflatten", "UnflattenedModule": "unflatten", "register_dataclass": "trees",
}  # fmt: skip
__all__ = list(_WHERE)


class _Package(types.ModuleType):
    """`unflatten` is a module and the function in it: the attribute is the function, whatever was imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "unflatten" and isinstance(value, types.ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module 'weft.export' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"weft.export.{_WHERE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})


sys.modules[__name__].__class__ = _Package
