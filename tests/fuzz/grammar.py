"""Random programs for the Python fuzzer: classes, and a function with statements of every kind."""

from __future__ import annotations

import random

from tests.fuzz.classes import ClassText, indented
from tests.fuzz.expressions import OF_OBJECTS, STATEMENTS, TO_OBJECTS, VALUES, pick


class Program:
    """The text of one random program. Its function is `f(x, n, s, xs, d)`; `OBJECTS` are instances made beside it."""

    def __init__(self, seed: int):
        self.r = r = random.Random(seed)
        self.budget = r.choice([4, 8, 14, 22])
        self.fresh = 0
        self.classes: list[ClassText] = []
        for i in range(r.choice([1, 1, 2, 3])):
            self.classes.append(ClassText(r, i, self.classes))
        body = ["global total, TABLE", "out = []", "o, p = OBJECTS[0], OBJECTS[1]", *self.block(False)]
        objects = [r.choice(self.classes).make for _ in range(2)]
        if r.random() < 0.5:
            objects[1] = objects[0]
        parts = [*(c.text for c in self.classes), "def global_step():\n    global total\n    total += 1"]
        parts += [f"OBJECTS = [{', '.join(objects)}]"]
        parts += ["def f(x, n, s, xs, d):\n" + indented("\n".join([*body, "return x, n, s, xs, d, out, o, p"]))]
        self.text = "\n\n".join(parts) + "\n"  # behind PRELUDE

    def name(self, prefix: str) -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def expression(self) -> str:
        r = self.r
        text = pick(r, OF_OBJECTS if r.random() < 0.5 else VALUES)
        if r.random() < 0.3 and text in OF_OBJECTS:
            text = text.replace("o.", "p.") if text.startswith("o.") else text
        return text.replace("K", r.choice(self.classes).name) if text in OF_OBJECTS else text

    def block(self, loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.r.randint(1, 5)):
            if self.budget <= 0:
                break
            self.budget -= 1
            lines += self.statement(loop).split("\n")
        return lines or ["pass"]

    def body(self, loop: bool, *ends: str) -> str:
        return indented("\n".join([*self.block(loop), *ends]))

    def statement(self, loop: bool) -> str:
        r = self.r
        roll = r.random()
        if roll < 0.40:
            return self.guarded(f"out.append(({self.expression()}))")
        if roll < 0.52:
            return self.guarded(pick(r, TO_OBJECTS).replace("K", r.choice(self.classes).name))
        if roll < 0.66:
            return self.guarded(pick(r, STATEMENTS), 0.5)
        form = r.choice([
            self.conditional, self.loop, self.attempt, self.attempt, self.group, self.with_, self.generator, self.generator, self.closure,
            self.early, self.rebinding, self.asked, self.match, self.while_, self.comprehension, self.raising, self.function, self.leave if loop else self.loop,
        ])  # fmt: skip
        return form(loop)

    def guarded(self, line: str, often: float = 0.85) -> str:
        """A line whose exception is written down, mostly."""
        if self.r.random() > often:
            return line
        return f"try:\n    {line}\nexcept Exception as e:\n    out.append((type(e).__name__, str(e)))"

    def test(self) -> str:
        return self.r.choice(
            ["n % 2", "o", "n > 1", "x.sum() > 2", "xs", "len(d) > 2", "o == p", "s < 'b'", "isinstance(o, dict)", "not p"]
        )

    def conditional(self, loop: bool) -> str:
        text = f"if {self.test()}:\n{self.body(loop)}"
        return text + (f"\nelse:\n{self.body(loop)}" if self.r.random() < 0.5 else "")

    def loop(self, loop: bool) -> str:
        over = self.r.choice(
            [
                "range(3)",
                "range(n % 4)",
                "xs[:3]",
                "s[:3]",
                "list(d)[:3]",
                "o",
                "d.items()",
                "counting(3, out)",
                "zip(xs, s)",
                "enumerate(s[:2])",
                "x",
                "o.gen(3)",
            ]
        )
        variable = self.name("i")
        text = f"for {variable} in {over}:\n{self.body(True, f'out.append({variable})')}"
        return text + (f"\nelse:\n{self.body(loop)}" if self.r.random() < 0.3 else "")

    def while_(self, loop: bool) -> str:
        w = self.name("w")
        return f"{w} = 0\nwhile {w} < {self.r.randint(1, 3)}:\n    {w} += 1\n{self.body(True)}"

    def leave(self, loop: bool) -> str:
        return (
            self.r.choice(["break", "continue"])
            if self.r.random() < 0.3
            else f"if {self.test()}: {self.r.choice(['break', 'continue'])}"
        )

    def attempt(self, loop: bool) -> str:
        r = self.r
        raised = self.raising(loop) if r.random() < 0.5 else self.guarded(f"out.append(({self.expression()}))", 0)
        text = "try:\n" + self.body(loop) + "\n" + indented(raised)
        kinds = r.choice(
            ["Exception", "(ValueError, KeyError)", "Coded", "ArithmeticError", "LookupError", "TypeError", "AttributeError"]
        )
        end = r.choice([
            "out.append(repr(e))", "out.append(e)", "out.append((e.args, str(e)))", "raise", "raise RuntimeError('again') from e", "raise KeyError(n)",
            "print('handled', type(e).__name__)", "out.append(type(e.__context__).__name__)", "out.append(getattr(e, 'code', 0))", "out.append(sys.exc_info()[0].__name__)",
            "out.append(e.__traceback__ is not None)", "e.add_note('n'); out.append(e.__notes__)", "pass",
        ])  # fmt: skip
        if r.random() < 0.85:
            text += f"\nexcept {kinds} as e:\n{self.body(loop)}\n" + indented(end)
            if r.random() < 0.25:
                text += f"\nelse:\n{self.body(loop)}"
        if "\nexcept " not in text or r.random() < 0.35:
            text += f"\nfinally:\n{self.body(False, 'out.append(0)')}"
        if r.random() < 0.7:
            text = (
                "try:\n"
                + indented(text)
                + "\nexcept Exception as e:\n    out.append((type(e).__name__, str(e), type(e.__cause__).__name__, type(e.__context__).__name__))"
            )
        return text

    def group(self, loop: bool) -> str:
        errors = self.r.choice(
            ["[ValueError(1), TypeError(n)]", "[KeyError('k')]", "[Coded(1, 'c'), ExceptionGroup('in', [ValueError(2)])]"]
        )
        handler = "\n".join([*self.block(False), "out.append([repr(v) for v in e.exceptions])"])
        return f"try:\n    raise ExceptionGroup('g', {errors})\nexcept* (ValueError, KeyError) as e:\n{indented(handler)}\nexcept* Exception as e:\n    out.append('rest')"

    def with_(self, loop: bool) -> str:
        manager = self.r.choice(
            [
                "managed(out) as m",
                "o as m",
                "contextlib.suppress(ValueError, KeyError)",
                "weft.no_grad()",
                "contextlib.ExitStack() as m",
                "managed(out), managed(out) as m",
                "Restored(out, (ValueError, KeyError)) as m",
                "Restored(out, ()) as m, o.cm() as q",
                "o.cm() as m",
            ]
        )
        return self.guarded_block(f"with {manager}:\n{self.body(loop)}")

    def guarded_block(self, text: str) -> str:
        if self.r.random() < 0.3:
            return text
        return f"try:\n{indented(text)}\nexcept Exception as e:\n    out.append((type(e).__name__, str(e)))"

    def generator(self, loop: bool) -> str:
        g = self.name("g")
        use = self.r.choice([
            f"out.append(next({g}))", f"out.append(list({g}))", f"for v in {g}:\n    break", f"out.append({g}.send(None))", f"{g}.close()",
            f"out.append(next({g}, 'none'))\n{g}.close()", f"out.append(next({g}))\nout.append({g}.send('sent'))",
            f"out.append(next({g}))\n{g}.throw(ValueError('thrown'))", f"for v in {g}:\n    out.append(v)\n    if v: break",
            f"a2, *b2 = {g}\nout.append(b2)", f"out.append(next({g}))\nprint('mid')\nout.append(list({g}))", f"out.append(next({g}))\ndel {g}",
            f"out.append(max({g}))", f"out.append(1 in {g})\nout.append(list({g}))", f"d['g'] = next({g})",
        ])  # fmt: skip
        make = self.r.choice(
            [
                "counting(3, out)",
                "chained(2, out)",
                "o.gen()",
                "(v * n for v in range(3))",
                "iter(xs)",
                "iter(o)",
                "map(str, xs)",
                "zip(s, xs)",
                "enumerate(s)",
                "reversed(xs)",
                "iter(d)",
            ]
        )
        return self.guarded_block(f"{g} = {make}\n{use}")

    def closure(self, loop: bool) -> str:
        g = self.name("h")
        form = self.r.choice([
            f"def {g}(a=n):\n    nonlocal_n = a + 1\n    return nonlocal_n, n\nout.append({g}())",
            f"def {g}(*a, k=n, **q):\n    return a, k, q, s\nout.append({g}(1, 2, z=3))",
            f"{g} = make_counter(n)\n{g}()\nout.append({g}(2))",
            f"{g} = [lambda q=i: (q, i, n) for i in range(2)]\nout.append([z() for z in {g}])",
            f"def {g}(k):\n    return 1 if k <= 0 else k * {g}(k - 1)\nout.append({g}(n % 5))",
            f"{g} = make_counter(1)\nprint('mid')\nout.append({g}())\nd['step'] = {g}",
            f"def {g}():\n    yield n\n    yield s\nout.append(list({g}()))",
            f"def {g}(v):\n    out.append(v)\n    return {g}\nout.append({g}(n)(s).__name__)",
            f"@wrapped\ndef {g}(v: int = 3) -> str:\n    'doc'\n    return v\nout.append(({g}(), {g}.__name__, {g}.__doc__, {g}.__defaults__))",
            f"{g} = o.m2\nout.append({g}())",
            f"class {g.upper()}(type(o).__mro__[0]):\n    pass\nout.append({g.upper()}.__name__)",
        ])  # fmt: skip
        return self.guarded_block(form)

    def function(self, loop: bool) -> str:
        """A helper that writes down what its block does, with locals of its own."""
        g = self.name("fn")
        inner = self.block(False)
        head = f"def {g}(x, n, s, xs, d, o, p, out):\n    global total, TABLE\n" + indented("\n".join(inner)) + "\n    return x, n"
        return self.guarded_block(f"{head}\nx, n = {g}(x, n, s, xs, d, o, p, out)")

    def early(self, loop: bool) -> str:
        """A function that returns from inside of blocks, which run to their ends."""
        g, r = self.name("early"), self.r
        tried = f"try:\n{self.body(False, 'out.append(1)', f'return ({self.expression()})')}"
        end = r.choice([
            "finally:\n    out.append('f')", "finally:\n    if n == 2: return 'finally'", "except Exception as e:\n    return repr(e)\nelse:\n    return 2",
        ])  # fmt: skip
        block = f"{tried}\n{end}"
        inner = r.choice([
            block, f"for j in range(3):\n{indented(block)}\nelse:\n    return 'else'", f"with Restored(out, ValueError):\n{indented(block)}\nreturn 'after'",
            "while True:\n    try:\n        if n == 1: break\n        return n\n    finally:\n        out.append('w')\nreturn 'broken'",
        ])  # fmt: skip
        names = "x, n, s, xs, d, o, p, out"
        return self.guarded_block(f"def {g}({names}):\n    global total, TABLE\n{indented(inner)}\nout.append({g}({names}))")

    def rebinding(self, loop: bool) -> str:
        """A function that binds names of the one around it."""
        g, v = self.name("bind"), self.name("cell")
        line = self.r.choice([f"{v} += n", f"{v} = {v} * 2", f"{v} = [{v}]", f"note({v}); {v} = s", f"del {v}; {v} = 5"])
        outer = f"def {g}out(n, s, out):\n    {v} = 1\n    def {g}(k=0):\n        nonlocal {v}\n        {line}\n        return {v}\n    def read(): return {v}\n"
        use = self.r.choice([
            f"    out.append({g}()); out.append(read()); {v} = 9; out.append(({g}(), read()))",
            f"    [out.append({g}(i)) for i in range(2)]; note(0); out.append({v})",
            f"    return {g}, read",
        ])  # fmt: skip
        return self.guarded_block(f"{outer}{use}\nout.append([h() for h in {g}out(n, s, out) or ()])")

    def asked(self, loop: bool) -> str:
        """A generator that is sent values and errors."""
        g = self.name("ask")
        steps = [f"{g}.send(n)", f"{g}.send(2)", f"{g}.throw(ValueError('v', n))", f"next({g}, 'end')", f"{g}.throw(KeyError)", f"{g}.send(None)", f"{g}.close()"]
        lines = "\n".join(f"out.append({self.r.choice(steps)})" for _ in range(self.r.randint(1, 4)))
        return self.guarded_block(f"{g} = asking(out)\nout.append(next({g}))\n{lines}")

    def match(self, loop: bool) -> str:
        subject = self.r.choice(["o", "n", "s", "xs", "d", "(n, s)", "Pair(n)", "{'k': n}", "x.shape", "x", "Pair(Pair(n), s)", "type(o)"])
        cases = self.r.sample([
            "case 1 | 2:\n    out.append('small')", "case int(v):\n    out.append(v)", "case str() as v if len(v) > 1:\n    out.append(v)",
            "case [a3, *b3]:\n    out.append((a3, b3))", "case {'a': v, **rest}:\n    out.append((v, rest))", "case {'k': v}:\n    out.append(v)",
            "case Pair(left=v):\n    out.append(v)", "case (a3, b3):\n    out.append(b3)", "case None:\n    out.append(None)", "case dict():\n    out.append('dict')",
            "case Mixin():\n    out.append('mixin')", "case Pair(Pair(v), w) | [Pair(v), w]:\n    out.append((v, w))", "case [int(v), *_] if v > 1:\n    out.append(v)",
            "case {**rest} if rest:\n    out.append(rest)", "case float(v) | complex(v):\n    out.append(v)", "case C0(v):\n    out.append(('C0', v))",
            "case type(__name__=v):\n    out.append(v)", "case (1 as v, _) | (_, str() as v):\n    out.append(v)", "case weft.Tensor(ndim=v):\n    out.append(v)",
        ], 4)  # fmt: skip
        return f"match {subject}:\n" + indented("\n".join([*cases, "case _:\n    out.append('other')"]))

    def comprehension(self, loop: bool) -> str:
        inner = self.r.choice(["i * n", "(i, s)", "x * i", "o.v", "boom(i)", "note(i)", "str(o)", "add(i)", "i in o", "Pair(i)"])
        form = self.r.choice(
            [
                "[{} for i in range(3)]",
                "{{i: {} for i in range(2)}}",
                "list({} for i in range(3) if i)",
                "[[{} for i in range(j)] for j in range(3)]",
                "tuple({} for i in (1, 2))",
            ]
        )
        return self.guarded("out.append(" + form.format(inner) + ")")

    def raising(self, loop: bool) -> str:
        return self.r.choice([
            "raise ValueError('bad', n)", "raise Coded(n, 'coded')", "raise KeyError(s)", "raise Quiet('q')", "boom(n)", "boom(n % 4 + 1)",
            "raise OSError(2, 'gone', 'file')", "raise StopIteration(n)", "raise o", "raise TypeError", "raise ExceptionGroup('g', [ValueError(n)])",
            "raise ValueError('a') from KeyError('b')", "raise UnicodeDecodeError('utf8', b'x', 0, 1, 'why')", "assert n > 99, (n, s)",
        ])  # fmt: skip
