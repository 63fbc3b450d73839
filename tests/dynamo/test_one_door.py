"""Only the world touches real objects: what the rest of dynamo's tracing reads of one, it reads by frame.world.

The sources are read. A field that holds a real object (`value`, `real`, `function`) may be handed to the world and named
in messages; its attributes are not read, nor are the parts of functions and classes that a program can replace.
"""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "dynamo"
DOOR = {"track.py", "values.py"}  # the type table, with world.py and classes_seen.py
HOLDERS = {"value", "real"}  # fields of Variables with a real object in them
NAMES = {"__name__", "__qualname__"}  # for messages
PARTS = {"__dict__", "__mro__", "__bases__", "__code__", "__defaults__", "__kwdefaults__"}
C_CLASSES = {"object", "type", "BaseException", "types.FunctionType", "abc.ABCMeta"}  # theirs cannot be replaced
ASKING = {"getattr", "hasattr", "setattr", "delattr", "vars", "dir"}
ALLOWED = {
    ("aten_kinds.py", "disabled.__dict__"): "a reason, for a message",
    ("base.py", "vars(cls)"): "the methods of our own Variables",
    ("base.py", "function.__code__"): "a rule of our own",
    ("base.py", "function.__defaults__"): "a rule of our own",
    ("base.py", "function.__kwdefaults__"): "a rule of our own",
    ("construct.py", "_base.__dict__"): "builtin classes",
    ("getter.py", "FunctionVariable(polyfills.GETTERS[self.cls])"): "a definition of our own",
    ("context_variable.py", "self.value.name"): "it cannot be set",
    ("descriptor.py", "self.value.__objclass__"): "it cannot be set",
    ("descriptor.py", "self.value.__get__"): "a descriptor of C: it cannot be set",
    ("descriptor.py", "getattr(self.value, name)"): "it cannot be set",
    ("exception.py", "c.__dict__"): "the builtin class that a shadow is of",
    ("exception.py", "cls.__mro__"): "which builtin class a class of exceptions is made from cannot change",
    ("exception.py", "type(shadow).__mro__"): "a builtin class",
    ("module.py", "cls.__dict__"): "nn.Module as it was, to tell whether it was replaced",
    ("native.py", "FunctionVariable(function)"): "a definition of our own",
    ("wrapper.py", "vars(self.fake)"): "a stand-in that tracing has made",
    ("tensor.py", "hasattr(value.value, '__array_priority__')"): "constants cannot change",
}
CONSTANTS = {"constant.py", "symint.py", "lazy.py", "text.py"}  # `value` there is a constant, a symbol, or a Variable


def holds_real(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in HOLDERS and isinstance(node.value, ast.Name)


def asks_of_real(node: ast.AST | None) -> bool:
    """Whether an argument is a real object, or an attribute of one."""
    return holds_real(node) or isinstance(node, ast.Attribute) and holds_real(node.value)


def touches(tree: ast.AST, constants: bool):
    """The expressions that read something of a real object."""
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if node.attr in PARTS and ast.unparse(node.value) not in C_CLASSES:
                yield node
            elif holds_real(node.value) and node.attr not in NAMES and id(node) not in called and not constants:
                if ast.unparse(node.value.value) == "self":
                    yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            first = node.args[0] if node.args else None
            if name in ("vars", "dir", "lookup", "FunctionVariable"):
                yield node
            elif name in ASKING and asks_of_real(first) and not constants:
                yield node


def test_no_other_file_touches_a_real_object():
    found = []
    for folder in ("variables", "interpreter"):
        for path in sorted((FOLDER / folder).glob("*.py")):
            if path.name in DOOR:
                continue
            for node in touches(ast.parse(path.read_text()), path.name in CONSTANTS):
                text = ast.unparse(node)
                text = text if len(text) < 60 else text[:60]
                if (path.name, text) not in ALLOWED:
                    found.append(f"{folder}/{path.name}:{node.lineno} {text}")
    assert found == []


def test_what_is_allowed_is_there():
    for name, text in ALLOWED:
        source = ast.unparse(ast.parse((FOLDER / "variables" / name).read_text()))
        assert text in source, f"{name} has no {text} any more: take it off the list"


def test_the_operators_are_not_read_where_a_program_replaces_them():
    """`operator.add = mine` is the program's: `_operator`, of which the functions of `operator` are, stays as it is."""
    files = [p for p in FOLDER.rglob("*.py") if p.name != "inventory.py"]  # which lists what is in the module
    found = [str(p) for p in files for line in p.read_text().splitlines() if line.strip() == "import operator"]
    assert found == []


APART = ("unpatched.py", "inventory.py")  # which has the copies, and which lists what is in the modules


def reads_while_running(tree: ast.AST) -> list[str]:
    """Attributes of the modules that functions read as they run (not as they are decorated); of `math` the import alone."""
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names if a.asname is None}
    found = ["math"] if "math" in imported else []
    decorators = {id(m) for n in ast.walk(tree) for d in getattr(n, "decorator_list", ()) for m in ast.walk(d)}
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            body = function.body if isinstance(function.body, list) else [function.body]
            reads = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Attribute) and id(n) not in decorators]
            found += [ast.unparse(n) for n in reads if ast.unparse(n.value) in {"functools", "itertools"} & imported]
    return found


def test_nothing_is_computed_by_what_a_program_replaces():
    """`math.prod = mine` is the program's: what weft computes is by the copies of aten/scalar/unpatched.py."""
    files = [p for f in ("aten", "dynamo", "inductor") for p in (FOLDER.parent / f).rglob("*.py") if p.name not in APART]
    assert [(str(p), read) for p in files for read in reads_while_running(ast.parse(p.read_text()))] == []
