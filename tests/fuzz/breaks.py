"""The break fuzzer: the programs of the review with breaks put between their statements, and statements put into loops and blocks.

Plain and compiled run the same changed program, so that what it shows stays the same however it is cut into graphs.

    python -m tests.fuzz.breaks --seconds 3600 --seed 0     seeds 0, 1, 2 … until the time is over
    python -m tests.fuzz.breaks --only 1234                 one seed: the fewest changes that still differ
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import linecache
import pathlib
import random
import sys
import types
import warnings
from typing import NamedTuple

import weft
from tests.fuzz import drive
from tests.fuzz.subjects import LEFT_OUT
from tests.review import groups, harness

PRELUDE = "import contextlib as _contextlib\nimport weft as _weft\n\n@_weft.compiler.disable\ndef _unseen(*_):\n    pass\n\n"
PATIENCE = 5  # seconds for one run of a program
FORMS = {
    "break": "_weft._dynamo.graph_break()\n{}",
    "call": "_unseen()\n{}",
    "with": "with _contextlib.nullcontext():\n    {}",
    "loop": "for _once in (0,):\n    {}",
    "loop with a break": "for _once in (0, 1):\n    _unseen()\n    if _once:\n        {}",
    "finally": "try:\n    {}\nfinally:\n    _unseen()",
    "except": "try:\n    {}\nexcept ZeroDivisionError:\n    raise",
}
PLACED = (ast.Global, ast.Nonlocal, ast.ImportFrom)  # statements that keep their place


class Change(NamedTuple):
    """A form for the statement at a place, counted in the order in which the tree is walked."""

    place: int
    form: str

    def __str__(self):
        return f"{self.form} at {self.place}"


class Case(NamedTuple):
    group: str
    program: str
    changes: tuple[Change, ...]

    def __str__(self):
        return f"{self.group}.{self.program}: " + "; ".join(map(str, self.changes))


@functools.cache
def source_of(group: str) -> str:
    module = importlib.import_module(f"tests.review.programs.{group}")
    assert module.__file__ is not None
    return pathlib.Path(module.__file__).read_text()


@functools.cache
def programs() -> list[tuple[str, str]]:
    """(group, name) of every program."""
    found = []
    for group in groups.PROGRAMS:
        tree = ast.parse(source_of(group))
        named = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list]
        found += [(group, name) for name in named if name not in LEFT_OUT]
    return found


def places(tree: ast.AST, within: str | None = None):
    """(list of statements, index) of what lies in functions, those of the function `within` alone if it is named."""
    roots = [n for n in ast.walk(tree) if within is None or (isinstance(n, ast.FunctionDef) and n.name == within)]
    functions = [n for root in roots[:1] for n in ast.walk(root) if isinstance(n, ast.FunctionDef) and n.name != within]
    met: set[int] = set()
    for function in functions:
        for node in inside(function):
            for field in ("body", "orelse", "finalbody"):
                statements = getattr(node, field, None)
                if isinstance(statements, list) and id(statements) not in met:
                    met.add(id(statements))
                    yield from ((statements, i) for i, s in enumerate(statements) if may_change(s, i))


def inside(node: ast.AST):
    """The node and the statements in it, but for those of other functions and of classes."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from inside(child)


def may_change(statement: ast.stmt, index: int) -> bool:
    doc = index == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return not (doc or isinstance(statement, PLACED))


def leaves_loop(statement: ast.AST) -> bool:
    """Whether a statement has a `break` or `continue` of a loop around it."""
    if isinstance(statement, ast.Break | ast.Continue):
        return True
    return any(leaves_loop(s) for s in inside(statement) if s is not statement and isinstance(s, ast.Break | ast.Continue))


def changed(case: Case) -> str:
    """The text of a case's module."""
    tree = ast.parse(source_of(case.group))
    spots = list(places(tree, case.program))
    edits: dict[int, tuple[list, dict[int, str]]] = {}
    for change in case.changes:
        statements, index = spots[change.place]
        edits.setdefault(id(statements), (statements, {}))[1].setdefault(index, change.form)
    for statements, forms in edits.values():
        new: list = []
        for i, statement in enumerate(statements):
            form = forms.get(i)
            new += [statement] if form is None else formed(form, statement)
        statements[:] = new
    return ast.unparse(ast.fix_missing_locations(tree))


def formed(form: str, statement: ast.stmt) -> list[ast.stmt]:
    if form.startswith("loop") and leaves_loop(statement):
        form = "call"
    made = ast.parse(FORMS[form].format("_here_"))

    class Put(ast.NodeTransformer):
        def visit_Expr(self, node):
            return statement if isinstance(node.value, ast.Name) and node.value.id == "_here_" else node

    return Put().visit(made).body


def module_of(case: Case) -> types.ModuleType:
    text, name = changed(case), f"<{case.group}>"
    future = [line for line in text.splitlines() if line.startswith("from __future__")]
    text = "\n".join([*future, PRELUDE, *(line for line in text.splitlines() if line not in future)])
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    module = types.ModuleType(f"changed_{case.group}")
    sys.modules[module.__name__] = module
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def play(case: Case, how) -> list:
    """All that is seen of a program."""
    weft.compiler.reset()
    try:
        module = module_of(case)
        with drive.alarm(PATIENCE):
            return harness.observe(getattr(module, case.program), how, module=module)[0]
    finally:
        weft.compiler.reset()
        weft.set_grad_enabled(True)
        weft.set_default_dtype(weft.float32)


def differs(case: Case, compiled=None) -> tuple[list, list] | None:
    """What plain and compiled show, if that differs."""
    with warnings.catch_warnings(), contextlib.suppress(drive.OutOfTime):
        warnings.simplefilter("ignore")
        want = play(case, harness.identity)
        got = play(case, compiled or harness.compiler("eager"))
        return None if harness.alike(want, got) else (want, got)
    return None


@functools.cache
def alone(group: str, program: str) -> bool:
    """Whether the program differs as it is: tests.review tells of that."""
    return differs(Case(group, program, ())) is not None


def case_of(seed: int) -> Case | None:
    """The case of a seed."""
    r = random.Random(seed)
    group, program = r.choice(programs())
    count = len(list(places(ast.parse(source_of(group)), program)))
    if not count or alone(group, program):
        return None
    often = r.choice([0.05, 0.15, 0.4])
    form = r.choice([None, None, *FORMS])
    chosen = [i for i in range(count) if r.random() < often] or [r.randrange(count)]
    return Case(group, program, tuple(Change(i, form or r.choice(list(FORMS))) for i in chosen))


def minimal(case: Case, compiled=None) -> Case:
    """The case without the changes that it differs without."""
    for i in range(len(case.changes)):
        fewer = case._replace(changes=case.changes[:i] + case.changes[i + 1 :])
        if differs(fewer, compiled):
            return minimal(fewer, compiled)
    return case


def parted(a, b) -> tuple:
    """The smallest parts of two nested lists that differ."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((parted(x, y) for x, y in zip(a, b) if not harness.alike(x, y)), (a, b))
    return a, b


def check(seed: int) -> tuple[str, str] | str | None:
    case = case_of(seed)
    if case is None:
        return drive.VOID
    first = differs(case)
    if first is None:
        return None
    case = minimal(case)
    want, got = parted(*(differs(case) or first))
    tree = ast.parse(changed(case))
    program = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == case.program)
    text = f"{case}\n{ast.unparse(program)}\n  plain    {str(want)[:600]}\n  compiled {str(got)[:600]}"
    return f"{case.group}.{case.program}: {str(want)[:60]} / {str(got)[:60]}", text


if __name__ == "__main__":
    sys.exit(drive.main("tests.fuzz.breaks", check))
