"""Which names the families of ops that are loaded on demand declare.

`python -m tests.aten.promised_ops` writes aten/ops/promised.py; with --show it prints what it would write.
"""

from __future__ import annotations

import ast
import importlib
import sys
import types
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "aten" / "ops"
HEAD = '''"""The ops that each family on demand declares: `=` names the op that a name is another one of, `.` a method of tensors.

Written by `python -m tests.aten.promised_ops`.
"""
'''


def imported(name: str) -> set[str]:
    """The families that a family imports first."""
    found = set()
    for node in ast.parse((FOLDER / f"{name}.py").read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module == "aten.ops":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aten.ops."):
            found.add(str(node.module).removeprefix("aten.ops."))
    return found


def families() -> list[str]:
    """The families on demand, which are those that the file names, each after those that it imports."""
    last = ast.parse((FOLDER / "promised.py").read_text()).body[-1]
    assert isinstance(last, ast.Assign)
    names = sorted(ast.literal_eval(last.value))
    found: list[str] = []

    def add(name: str) -> None:
        for other in sorted(imported(name) & set(names)):
            add(other)
        if name not in found:
            found.append(name)

    for name in names:
        add(name)
    return found


def declared(order: list[str]) -> dict[str, list[str]]:
    """The names by family, found in this process, which must not have imported aten yet."""
    nothing = types.ModuleType("aten.ops.promised")
    nothing.PROMISED = {}  # type: ignore[attr-defined]
    sys.modules["aten.ops.promised"] = nothing
    from aten.op import registry
    from aten.ops import is_method

    found = {}
    for family in order:
        before = set(registry)
        importlib.import_module(f"aten.ops.{family}")
        names = []
        for name, op in registry.items():
            if name not in before:
                names.append(name + (f"={op.name}" if op.name != name else "") + ("." if is_method(op) else ""))
        found[family] = names
    return found


def text(found: dict[str, list[str]]) -> str:
    """The file."""
    lines = [HEAD, "PROMISED = {"]
    for family, names in sorted(found.items()):
        lines.append(f'    "{family}":')
        row = ""
        for name in names:
            if len(row) + len(name) > 110:
                lines.append(f'        "{row} "')
                row = ""
            row += (" " if row else "") + name
        lines.append(f'        "{row}",')
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    made = text(declared(families()))
    if "--show" in sys.argv:
        print(made, end="")
    else:
        (FOLDER / "promised.py").write_text(made)
