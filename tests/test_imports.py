"""No circle among the files of a package, imports inside functions counted; and imports go up only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {"aten": {"aten"}, "dynamo": {"aten", "dynamo"}, "inductor": {"aten", "inductor"}}


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def files(package: str) -> dict[str, Path]:
    """The modules of a package; native ones by their stubs."""
    return {module_name(p): p for p in sorted((ROOT / package).rglob("*.py*")) if p.suffix in (".py", ".pyi")}


def imported(tree: ast.AST, name: str, is_package: bool, known: dict[str, Path]) -> set[str]:
    """The modules of `known` that a file imports anywhere, but for what only type checkers read."""
    found: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, base] if base else parts)
            for a in node.names:
                inner = f"{base}.{a.name}"
                found.add(inner if inner in known else base)
        pending += ast.iter_child_nodes(node)
    return found & known.keys() - {name}


def graph(package: str) -> dict[str, set[str]]:
    known = files(package)
    edges = {}
    for name, path in known.items():
        edges[name] = imported(ast.parse(path.read_text()), name, path.name == "__init__.py", known)
    return edges


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one file (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(v: str) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            component = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            if len(component) > 1:
                found.append(sorted(component))

    for v in edges:
        if v not in index:
            visit(v)
    return found


@pytest.mark.parametrize("package", ["aten", "dynamo", "inductor", "weft"])
def test_no_circle_among_files(package):
    assert circles(graph(package)) == []


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_imports_go_up_only(package):
    everything = {n: p for top in ("aten", "dynamo", "inductor", "weft") for n, p in files(top).items()}
    for name, path in files(package).items():
        tops = {m.partition(".")[0] for m in imported(ast.parse(path.read_text()), name, path.name == "__init__.py", everything)}
        assert tops <= ALLOWED[package], f"{name} imports {tops - ALLOWED[package]}"
