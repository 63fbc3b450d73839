"""Random programs: loops, branches, try, with, calls, mutations and graph breaks, over tensors, lists, dicts, objects.

`python -m tests.fuzz.statements FIRST LAST [plain|wild] [BACKEND]` runs a range of seeds, and tells those whose compiled
run differs from eager.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import random
import sys

import weft
from tests.dynamo.same import same

notes: list = []


@weft.compiler.disable
def note(what):
    notes.append(what)


class Box:
    def __init__(self):
        self.v = 0

    def get(self, x):
        return x + self.v


@contextlib.contextmanager
def manager(items):
    items.append(1.0)
    try:
        yield 3
    finally:
        items.append(2.0)


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, tb):
        return kind is ValueError


def helper(x, y):
    return x * 0.3 + y


def side(x):
    y = x + 1
    print("s", end="")
    return y * 0.5


def boom(k):
    if k % 2:
        raise ValueError(k)


def handled():
    """The exceptions being handled, innermost first."""
    e, names = sys.exc_info()[1], []
    while e is not None:
        names.append(type(e).__name__)
        e = e.__context__
    return names


def raising(k, leave=False):
    """An exception handled on the way, and another one perhaps."""
    try:
        boom(k)
        raise KeyError(k)
    except ValueError as e:
        if leave:
            raise TypeError("left") from e
        return e
    except KeyError as e:
        note("inner")
        return e


class Program:
    """The text of `f(a, b, items, box, d, k)` for a seed."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.budget = 22
        lines = ["def f(a, b, items, box, d, k):", "    c = a * 1", *self.block(1, False)]
        self.text = "\n".join([*lines, "    return a, b, c, k, items, d, box.v"]) + "\n"

    def expression(self) -> str:
        a, b = self.r.choice("abc"), self.r.choice("abc")
        forms = [
            f"{a} + {b}", f"{a} * 0.5", f"{a} - {b} * 0.25", f"weft.tanh({a})", f"helper({a}, {b})", f"side({a}) + {b}",
            f"{a} + float(len(items)) * 0.1", f"box.get({a})", f"({a} if k % 2 else {b}) * 0.9",
        ]  # fmt: skip
        return self.r.choice(forms)

    def block(self, depth: int, loop: bool) -> list[str]:
        pre, lines = "    " * depth, []
        for _ in range(self.r.randint(1, 4)):
            if self.budget <= 0:
                break
            self.budget -= 1
            lines += [line if line.startswith(pre) else pre + line for line in self.statement(depth, loop)]
        return lines or [pre + "pass"]

    def statement(self, depth: int, loop: bool) -> list[str]:
        r, pre = self.r, "    " * depth
        body = lambda in_loop=loop: self.block(depth + 1, in_loop)
        kind = r.randrange(16)
        if kind < 5:
            return [f"{r.choice('abc')} = {self.expression()}"]
        if kind == 7:
            lines = [f"for i in range({r.randint(1, 3)}):", pre + "    k = k + 1", *body(True)]
            return [*lines, "else:", pre + "    c = c + 1"] if r.random() < 0.3 else lines
        if kind == 8:
            test = r.choice(["k % 2 == 0", "a.sum() > b.sum()", "len(items) > 1", "k > 2"])
            lines = [f"if {test}:", *body()]
            return [*lines, "else:", *body()] if r.random() < 0.5 else lines
        if kind == 9:
            lines = ["try:", *body(), pre + "    " + r.choice(["boom(k)", "pass", "a = a.reshape(77)", "note('t')"])]
            if r.random() < 0.7:
                handler = r.choice(["note(type(e).__name__)", "b = b + 1"])
                lines += ["except (ValueError, RuntimeError) as e:", pre + "    " + handler]
            if r.random() < 0.4 or len(lines) and not lines[-2].startswith("except"):
                lines += ["finally:", pre + "    " + r.choice(["b = b * 0.5", "note('f')"])]
            return lines
        if kind == 10:
            opening = r.choice(["with manager(items) as m:", "with weft.no_grad():", "with Swallow():"])
            return [opening, *body()]
        if kind == 11 and loop:
            return [r.choice(["if k > 3: break", "if k % 3 == 0: continue", "if a.sum() > 100: break"])]
        if kind == 15 and depth > 1 and r.random() < 0.5:
            return ["return a, b, k, items, d"]
        return [
            {5: "note('x')", 6: f"items.append({r.choice('abc')})", 12: f"box.v = {self.expression()}",
             13: f"d['q'] = {r.choice('abc')}; k = len(d)", 14: f"c = sum([x * 0.1 for x in items], {r.choice('abc')})"}
            .get(kind, "pass")
        ]  # fmt: skip

    def function(self, name: str):
        """The function `f` of this text."""
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        scope = {"weft": weft, "__name__": "fuzz_program"}
        scope.update({f.__name__: f for f in (note, Box, manager, Swallow, helper, side, boom, handled, raising)})
        exec(compile(self.text, name, "exec"), scope)
        return scope["f"]


class Wild(Program):
    """Programs with much in except and finally blocks, closures, generators, comprehensions and while loops."""

    def statement(self, depth: int, loop: bool) -> list[str]:
        r, pre = self.r, "    " * depth
        kind = r.randrange(14)
        body = lambda in_loop=loop: self.block(depth + 1, in_loop)
        if kind < 5:
            return super().statement(depth, loop)
        if kind < 8:
            return self.attempt(depth, loop)
        if kind == 8:
            return [f"n{depth} = 0", f"while n{depth} < {r.randint(1, 3)}:", pre + f"    n{depth} = n{depth} + 1", *body(True)]
        if kind == 9 and loop:
            return [r.choice(["if k % 2: break", "if k % 3 == 1: continue", "if note(k): break"])]
        if kind == 10:
            return [r.choice(["handled()", "note(handled())", "note(type(raising(k)).__name__)"])]
        if kind == 11:
            return [f"g = lambda q: q * {r.choice('abc')} + k", r.choice("abc") + f" = g({self.expression()}) * 0.1"]
        if kind == 12:
            return [f"{r.choice('abc')} = sum(({self.expression()}) * w for w in [0.1, 0.2])"]
        return ["a, b = b, a"] if r.random() < 0.5 else [f"{r.choice('abc')} = [{self.expression()} for w in range(2)][-1]"]

    def attempt(self, depth: int, loop: bool) -> list[str]:
        """A try statement with handlers of several statements."""
        r, pre = self.r, "    " * (depth + 1)
        ends = ["boom(k)", "boom(1)", "raise KeyError('k', k)", "a = a.reshape(77)", "note('t')", "raising(k, True)", "pass"]
        lines = ["try:", *self.block(depth + 1, loop), pre + r.choice(ends)]
        if r.random() < 0.85:
            kinds = r.choice(["(ValueError, RuntimeError)", "LookupError", "Exception", "ValueError"])
            lines += [f"except {kinds} as e:", *self.block(depth + 1, loop)]
            ends = ["note(repr(e))", "note(type(e.__context__).__name__)", "raise", "raise KeyError('x') from e", "boom(1)",
                    "note('h'); b = b + 1", "note(handled())", "pass", "pass"]  # fmt: skip
            lines += [pre + r.choice(ends)]
            if r.random() < 0.3:
                lines += ["except KeyError:", *self.block(depth + 1, loop)]
            if r.random() < 0.3:
                lines += ["else:", *self.block(depth + 1, loop)]
        if len(lines) < 4 or r.random() < 0.4 or not any(line.startswith("except") for line in lines):
            lines += ["finally:", *self.block(depth + 1, loop), pre + r.choice(["note('f')", "b = b * 0.5", "note(handled())"])]
        return lines


def run(function, k: int, n: int):
    """Everything that can be seen of a call: result or exception, mutated arguments, notes, output."""
    notes.clear()
    items, box, d, out = [0.5], Box(), {"z": 1}, io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            result = function(weft.arange(float(n)) * 0.1, weft.ones(n, requires_grad=True), items, box, d, k)
        except (ValueError, RuntimeError, UnboundLocalError, KeyError, TypeError) as e:
            cause, context = type(e.__cause__).__name__, type(e.__context__).__name__
            result = (type(e).__name__, str(e), cause, context)
    assert weft.is_grad_enabled()
    assert sys.exc_info() == (None, None, None)
    return result, items, d, box.v, list(notes), out.getvalue()


def check(seed: int, kind: type[Program] = Program, backend: str = "eager") -> None:
    """The program of a seed, compiled, does what it does eager."""
    function = kind(seed).function(f"<program {seed}>")
    weft.compiler.reset()
    compiled = weft.compile(function, backend=backend)
    for k, n in ((0, 3), (1, 3), (2, 4), (2, 5)):
        same(run(compiled, k, n), run(function, k, n))


if __name__ == "__main__":
    kind = Wild if sys.argv[3:4] == ["wild"] else Program
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            check(seed, kind, *sys.argv[4:])
        except Exception as e:  # noqa: BLE001  (told, and the next seed is tried)
            print(seed, type(e).__name__, str(e).splitlines()[:1])
