"""The mutation fuzzer: between two calls of a compiled function the world changes, and compiled stays equal to plain.

A case is (program, which of its calls, changes): at that call the function is called, the world is changed, it is called
again, the change is undone, and it is called once more. The program runs once plain and once compiled, each with objects
of its own; changes are named by paths, so both runs make the same ones.

    python -m tests.fuzz.mutation --seconds 3600 --seed 0     cases of seeds 0, 1, 2 … until the time is over
    python -m tests.fuzz.mutation --only 1234                 one seed, and what differs
    python -m tests.fuzz.mutation --program classes.dataclass_ne      every single change of one program
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import random
import sys
import warnings

import numpy as np

import weft
from dynamo import world
from tests.fuzz import drive, mutations, seen, slots
from tests.fuzz.subjects import subjects

PATIENCE = 5  # seconds for one run of a program


@dataclasses.dataclass(frozen=True)
class Case:
    program: str
    call: int
    steps: tuple[str, ...]

    def __str__(self):
        return f"{self.program}, call {self.call}: " + "; ".join(self.steps)


class Stage:
    """What a program gets as C: passes functions through `compile`, and changes the world at one call."""

    def __init__(self, compile, case: Case):
        self.compile, self.call, self.steps = compile, case.call, case.steps
        self.names = slots.names_in(subjects()[case.program].__code__)
        self.calls = 0
        self.told: list = []  # what was seen, in order
        self.keys: list[str] = []  # what could have been changed at the call

    def __call__(self, fn=None, **options):
        if fn is None:
            return lambda g: self(g, **options)
        return Watched(self, fn, self.compile(fn, options))

    def at(self, plain, function, args, kwargs):
        """One call of a program: with the changes, if it is the one."""
        self.calls += 1
        if self.calls - 1 != self.call or kwargs:
            return function(*args, **kwargs)
        args, undo, memo = list(args), [], {}
        here = mutations.all_of(plain, args, self.names)
        self.keys = list(here)
        look = lambda: self.told.append(seen.attempt(function, *args, memo=dict(memo)))
        try:
            look()
            for step in self.steps:
                if step not in here:
                    self.told.append(f"there is no {step}")
                    continue
                self.told.append(step)
                try:
                    undo.append(here[step]())
                except (TypeError, AttributeError, ValueError, KeyError, NameError, NotImplementedError, RuntimeError) as e:
                    self.told.append(seen.ADDRESS.sub("", f"{type(e).__name__}: {e}")[:200])
                look()
        finally:
            while undo:
                try:
                    undo.pop()()
                except (TypeError, AttributeError, ValueError, KeyError, NameError, RuntimeError) as e:
                    self.told.append(seen.ADDRESS.sub("", f"undone: {type(e).__name__}: {e}")[:200])
        look()
        return function(*args)


class Watched:
    """A function of the program behind a Stage."""

    def __init__(self, stage: Stage, plain, function):
        object.__setattr__(self, "_parts", (stage, plain, function))

    def __call__(self, *args, **kwargs):
        stage, plain, function = self._parts
        return stage.at(plain, function, args, kwargs)

    def plain_of(self):
        """For the walk over what can be seen: the function behind it."""
        return self._parts[1]

    def __get__(self, obj, cls=None):
        return self if obj is None else functools.partial(self, obj)

    def __getattr__(self, name):
        if name == "_parts" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._parts[2], name)

    def __setattr__(self, name, value):
        setattr(self._parts[2], name, value)


def plain(fn, options):
    return fn


def compiled(fn, options):
    return weft.compile(fn, **{"backend": "eager"} | options)


def play(case: Case, how) -> tuple[list, Stage]:
    """The program of a case, plain or compiled: everything that was seen."""
    program = subjects()[case.program]
    names = vars(sys.modules[program.__module__])
    before = dict(names)
    weft.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    weft.compiler.reset()
    stage = Stage(how, case)
    try:
        with drive.alarm(PATIENCE):
            end = seen.attempt(program, stage)
    finally:
        names.clear()
        names.update(before)
        mutations.OFFERED.clear()
        weft.compiler.reset()
        weft.set_grad_enabled(True)
        weft.set_default_dtype(weft.float32)
    end[1] = None  # the argument is the Stage
    return [*stage.told, end], stage


def differs(case: Case, compiled=compiled) -> tuple[list, list] | None:
    """What plain and compiled show where they part, or None."""
    try:
        want, _ = play(case, plain)
    except drive.OutOfTime:
        return None
    try:
        got, _ = play(case, compiled)
    except drive.OutOfTime:
        return want, ["the compiled program does not end"]
    if want == got:
        return None
    return next(((a, b) for a, b in zip(want, got) if a != b), (want, got))


def keys_of(program: str, call: int = 0) -> list[str]:
    """The changes that may be made at a call of a program."""
    try:
        _, stage = play(Case(program, call, ()), plain)
    except drive.OutOfTime:
        return []
    return stage.keys


def reads_of(program: str, call: int = 0) -> set[str]:
    """The names of what the compiler looked at."""
    names: set[str] = set()
    world.listen = lambda kind, source, name, value: names.update(
        w for w in (name, getattr(source, "key", None)) if isinstance(w, str)
    )
    try:
        play(Case(program, call, ()), compiled)
    except drive.OutOfTime:
        pass
    finally:
        world.listen = None
    return names


@functools.cache
def alone(program: str, call: int) -> bool:
    """Whether the program differs by itself: tests.review tells of that."""
    return differs(Case(program, call, ())) is not None


@functools.cache
def likely(program: str, call: int) -> tuple[list[str], list[str]]:
    """All changes at a call, and those of them that touch a name which the compiler looked at."""
    keys, read = keys_of(program, call), reads_of(program, call)
    return keys, [k for k in keys if any(n in k for n in read)]


def case_of(seed: int, hot: bool = True) -> Case | None:
    """The case of a seed; `hot`: mostly changes of what the compiler looked at."""
    r = random.Random(seed)
    program = r.choice(list(subjects()))
    call = 0 if r.random() < 0.8 else r.randint(1, 3)
    keys, read = likely(program, call) if hot else (keys_of(program, call), [])
    if not keys or alone(program, call):
        return None
    count = r.choice([1, 1, 1, 2, 2, 3, 4])
    return Case(program, call, tuple(r.choice(read if read and r.random() < 0.6 else keys) for _ in range(count)))


def minimal(case: Case, compiled=compiled) -> Case:
    """The case without the steps that it differs without."""
    for i in range(len(case.steps)):
        fewer = dataclasses.replace(case, steps=case.steps[:i] + case.steps[i + 1 :])
        if differs(fewer, compiled):
            return minimal(fewer, compiled)
    return case


def report(case: Case, parted: tuple) -> str:
    """`parted`: what plain and compiled showed. A case that does not show it again is told of with what it showed once."""
    again = differs(case)
    want, got = again or parted
    text = f"{case}\n  plain    {want}\n  compiled {got}"
    if again is None:
        text += "\n  (not again in this process: one run has changed what the next sees)"
    if not case.steps:
        text += "\n  (without any change)"
    return text


def check(seed: int) -> tuple[str, str] | str | None:
    """Nothing, or (name of the cause, report) of a seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = case_of(seed)
        if case is None:
            return drive.VOID
        parted = differs(case)
        if parted is None:
            return None
        small = minimal(case)
        return f"{small.program}: {'; '.join(small.steps)}", report(small, parted)


def singles(program: str) -> None:
    """Every single change of one program."""
    for key in [None, *keys_of(program)]:
        case = Case(program, 0, (key,) if key else ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if parted := differs(case):
                print(f"{case}\n  plain    {parted[0]}\n  compiled {parted[1]}", flush=True)


if __name__ == "__main__":
    if "--program" in sys.argv:
        name = sys.argv[sys.argv.index("--program") + 1]
        for full in [n for n in subjects() if name in n]:
            f = subjects()[full]
            print(inspect.getsource(f) if full.split(".")[0] not in ("models", "python") else full)
            singles(full)
    else:
        sys.exit(drive.main("tests.fuzz.mutation", check))
