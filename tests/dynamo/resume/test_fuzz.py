"""Random programs with breaks in loops, branches, try and with blocks do what eager does."""

import random

import pytest

import weft
from tests.dynamo.resume import broken
from tests.dynamo.resume.test_resume import outcome

SEEDS = 40


class Writer:
    """Writes one function. Integers a, b, c; tensors x, y; u, v may be unbound."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.names = 0

    def choose(self, *options):
        return self.random.choice(options)

    def put(self, depth, text):
        self.lines.append("    " * depth + text)

    def integer(self):
        return self.choose(
            "a", "b", "c", "2", "3", "note(a)", "(a + b)", "(c * 2 - a)", "x.shape[0]", "min(a, b)", "-c"
        )  # fmt: skip

    def tensor(self):
        return self.choose(
            "x", "y", "(x + y)", "x * 2", "(y - 1)", "x * note(b)", "(x + a)", "x.abs()", "[x, y][a % 2]"
        )  # fmt: skip

    def condition(self):
        return self.choose(
            f"{self.integer()} > {self.integer()}", f"({self.tensor()}).sum() > {self.integer()}", "a % 2", "note() == 0",
            f"not ({self.integer()} < 4)", "x.shape[0] == 2",
        )  # fmt: skip

    def block(self, depth, loop, room):
        for _ in range(self.random.randint(1, 3)):
            room = self.statement(depth, loop, room)
        return room

    def statement(self, depth, loop, room):
        simple = ["integer", "integer", "tensor", "tensor", "note", "maybe", "read", "append", "call"]
        if depth < 5 and room > 0:
            simple += ["if", "for", "while", "try", "with", "if", "for", "try"]
        if loop:
            simple += ["leave"]
        if depth > 1:
            simple += ["stop"]
        kind = self.choose(*simple)
        left = getattr(self, "write_" + kind)(depth, loop, room - 1)
        return room - 1 if left is None else left

    def write_integer(self, depth, loop, room):
        self.put(depth, f"{self.choose('a', 'b', 'c')} = ({self.integer()} + {self.integer()}) % 7")

    def write_tensor(self, depth, loop, room):
        self.put(depth, f"{self.choose('x', 'y')} = {self.tensor()} * 0.5 + {self.choose('x', 'y', 'a')}")

    def write_note(self, depth, loop, room):
        self.put(depth, f"note({self.integer()}, {self.choose('a', 'b', repr('s'))})")

    def write_maybe(self, depth, loop, room):
        self.put(depth, f"{self.choose('u', 'v')} = {self.choose(self.integer(), self.tensor())}")

    def write_read(self, depth, loop, room):
        self.put(depth, f"{self.choose('out.append(u)', 'out.append(v)', 'del u', 'del v')}")

    def write_append(self, depth, loop, room):
        self.put(depth, f"out.append({self.choose(self.integer(), self.tensor())})")

    def write_call(self, depth, loop, room):
        self.put(depth, f"{self.choose('add(2)', 'x = scale(x)', 'a = add(b) % 5')}")

    def write_leave(self, depth, loop, room):
        self.put(depth, f"if {self.condition()}:")
        self.put(depth + 1, self.choose("break", "continue", "return x, out"))

    def write_stop(self, depth, loop, room):
        self.put(depth, f"if {self.condition()}:")
        ends = ("return y, a", "fail(ValueError, a)", "fail(KeyError, 1)", "raise ValueError(b)")
        self.put(depth + 1, self.choose(*ends))

    def write_if(self, depth, loop, room):
        self.put(depth, f"if {self.condition()}:")
        room = self.block(depth + 1, loop, room)
        if self.choose(True, False):
            self.put(depth, "else:")
            room = self.block(depth + 1, loop, room)
        return room

    def write_for(self, depth, loop, room):
        self.names += 1
        over = self.choose("range(3)", "range(a % 3 + 1)", "(1, 2)", "enumerate([x, y])", "out[:2]", "[x, 3, y]")
        name = f"i{self.names}" if "enum" not in over else f"i{self.names}, w{self.names}"
        self.put(depth, f"for {name} in {over}:")
        room = self.block(depth + 1, True, room)
        if self.choose(True, False):
            self.put(depth, "else:")
            room = self.block(depth + 1, loop, room)
        return room

    def write_while(self, depth, loop, room):
        self.names += 1
        self.put(depth, f"n{self.names} = 0")
        self.put(depth, f"while n{self.names} < {self.choose(2, 3)} and {self.condition()}:")
        self.put(depth + 1, f"n{self.names} += 1")
        return self.block(depth + 1, True, room)

    def write_try(self, depth, loop, room):
        self.put(depth, "try:")
        room = self.block(depth + 1, loop, room)
        form = self.choose("except", "except", "finally", "both", "else")
        if form != "finally":
            caught = self.choose("ValueError", "(KeyError, ValueError)", "LookupError", "Exception")
            self.put(depth, f"except {caught} as e:")
            self.put(depth + 1, "out.append(type(e).__name__)")
            room = self.block(depth + 1, loop, room)
        if form == "else":
            self.put(depth, "else:")
            room = self.block(depth + 1, loop, room)
        if form in ("finally", "both"):
            self.put(depth, "finally:")
            self.put(depth + 1, self.choose("note(a)", "x = x + 1", "out.append(7)"))
        return room

    def write_with(self, depth, loop, room):
        self.put(depth, f"with Manager({self.integer()}, {self.choose('True', 'False')}):")
        return self.block(depth + 1, loop, room)

    def write(self):
        self.put(0, "def f(x, a, b=2, *, c=3):")
        self.put(1, "y = x * 2")
        self.put(1, "out = []")
        self.put(1, "def add(n):")
        self.put(2, "nonlocal b")
        self.put(2, "b = (b + n) % 5")
        self.put(2, "return b")
        self.put(1, "def scale(t):")
        self.put(2, "return t * c")
        room = 14
        while room > 0:
            room = self.statement(1, False, room)
        self.put(1, "return x, y, out, a, b, c")
        return "\n".join(self.lines)


def check(seed):
    text = Writer(seed).write()
    space = dict(vars(broken))
    exec(compile(text, f"<program {seed}>", "exec"), space)
    f = space["f"]
    compiled = weft.compile(f, backend="eager")
    for x, a in ((weft.arange(2) - 0.25, 1), (weft.arange(2) - 0.25, 2), (weft.arange(3) * -1.5, 0)):
        want = outcome(f, x, a)
        for _ in range(2):
            got = outcome(compiled, x, a)
            assert got == want, text


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs_with_breaks(seed):
    weft.compiler.reset()
    with weft._dynamo.config.patch(recompile_limit=64):
        check(seed)
