"""Programs without Python: `export(module, args)` captures a call whole, as an ExportedProgram that can be saved."""

import importlib

_WHERE = {
    "Dim": "sizes", "dims": "sizes", "ShapesCollection": "sizes", "export": "program", "export_for_training": "program",
    "ExportedProgram": "program", "ExportGraphSignature": "signature", "InputKind": "signature", "InputSpec": "signature",
    "OutputKind": "signature", "OutputSpec": "signature", "TensorArgument": "signature", "ConstantArgument": "signature",
    "save": "files", "load": "files", "unflatten": "program", "register_dataclass": "trees",
}  # fmt: skip
__all__ = list(_WHERE)


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module 'weft.export' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"weft.export.{_WHERE[name]}"), name)
    return value
