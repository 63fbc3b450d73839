"""Delta debugging: a program made small by leaving statements out."""

from __future__ import annotations

import ast
import time


def smaller(tree: ast.Module):
    """Programs with one statement less, or with the body of one in its place; the largest first."""
    spots = []
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                spots += [(len(ast.dump(s)), node, field, i) for i, s in enumerate(statements)]
    for _, node, field, i in sorted(spots, key=lambda s: -s[0]):
        statements = getattr(node, field)
        if i >= len(statements):
            continue
        old = list(statements)
        inner = [
            v
            for f in ("body", "orelse", "finalbody")
            for v in (getattr(old[i], f, None) or [])
            if isinstance(getattr(old[i], f), list)
        ]
        for new in ([], inner if not isinstance(old[i], (ast.FunctionDef, ast.ClassDef)) else []):
            made = [*old[:i], *new, *old[i + 1 :]]
            if field in ("handlers", "cases") and new:
                continue
            setattr(node, field, made or ([ast.Pass()] if field == "body" else []))
            yield
            setattr(node, field, old)
            if not new and not inner:
                break


def reduced(text: str, still, seconds: float = 40) -> str:
    """A small program that `still(text)` holds for, by leaving out statements for so long."""
    tree, shrunk, end = ast.parse(text), True, time.monotonic() + seconds
    while shrunk:
        shrunk = False
        for _ in smaller(tree):
            if time.monotonic() > end:
                return text
            try:
                candidate = ast.unparse(ast.fix_missing_locations(tree))
                compile(candidate, "<fuzzed>", "exec")
            except (SyntaxError, ValueError, TypeError, AttributeError):
                continue
            if still(candidate):
                text, tree, shrunk = candidate, ast.parse(candidate), True
                break
    return text
