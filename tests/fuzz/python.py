"""The Python fuzzer: random programs with classes of every kind, exceptions, generators, closures and containers.

python -m tests.fuzz.python --seconds 3600 --seed 0     seeds 0, 1, 2 … until the time is over
python -m tests.fuzz.python --only 1234                 one seed: the smallest program that still differs
python -m tests.fuzz.python --show 1234                 its program
"""

from __future__ import annotations

import gc
import linecache
import sys
import types
import warnings

import weft
from tests.fuzz import drive, seen
from tests.fuzz.grammar import Program
from tests.fuzz.prelude import PRELUDE
from tests.fuzz.reduce import reduced

QUIET_END = """
def counting(n, log):
    try:
        for i in range(n):
            got = yield i
            if got:
                log.append(got)
        return "end"
    finally:
        pass
"""
# The prelude's `asking`, which says nothing of being dropped.
QUIET_DROP = PRELUDE[PRELUDE.index("def asking") :].replace(
    "        finally:\n            log.append(total)",
    "        except GeneratorExit:\n            log = []\n            raise\n        finally:\n            log.append(total)",
)
PATIENCE = 5  # seconds for the calls of one program


def module_of(text: str, name: str) -> types.ModuleType:
    text = PRELUDE + text
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    module = types.ModuleType("fuzzed")
    sys.modules["fuzzed"] = module
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def run(text: str, name: str, how, collect: bool = False) -> list:
    """All that can be seen of five calls with arguments that change; `collect`: after what only circles hold has ended."""
    weft.manual_seed(0)
    module = module_of(text, name)
    function, told = how(module.f), []
    if collect:
        function = collected(function)
    sizes, numbers, texts = (3, 3, 4, 3, 5), (1, 1, 2, 3, 1.5), ("ab", "ab", "b", "abc", "a")
    for size, n, s in zip(sizes, numbers, texts):
        memo: dict = {}
        told.append(seen.attempt(function, weft.arange(float(size)), n, s, [n, s], {"a": n, "b": [1]}, memo=memo))
        told.append(
            seen.seen(
                [module.OBJECTS, module.notes, module.TABLE, sorted(map(repr, module.WORDS)), module.total, states(module)], memo
            )
        )
        told.append(seen.seen(cells(module), memo))
        told.append(weft.is_grad_enabled())
    return told


def cells(module) -> list:
    """What the closures of the program hold."""
    return [f.__closure__[0].cell_contents for f in (*module.COUNTERS, *module.PAIRS) if isinstance(f, types.FunctionType)]


def states(module) -> list:
    """The data that lies on the classes of the program."""
    found = []
    for name, cls in vars(module).items():
        if isinstance(cls, type) and cls.__module__ == "fuzzed":
            found.append(
                [
                    name,
                    {k: v for k, v in vars(cls).items() if not k.startswith("__") and isinstance(v, (int, float, str, list, dict))},
                ]
            )
    return found


def plain(fn):
    return fn


def compiled(fn):
    weft.compiler.reset()
    return weft.compile(fn, backend="eager")


def collected(function):
    """The same function, behind which the garbage collector runs."""

    def called(*args):
        try:
            return function(*args)
        finally:
            gc.collect()

    return called


def differs(text: str, name: str = "<fuzzed>", compiled=compiled, collect: bool = False) -> tuple | None:
    """(call, plain, compiled) where the two part, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with drive.alarm(PATIENCE):
                want = run(text, name, plain, collect)
        except (drive.OutOfTime, MemoryError, RecursionError, OverflowError):
            return None
        try:
            with drive.alarm(4 * PATIENCE):
                got = run(text, name, compiled, collect)
        except drive.OutOfTime:
            return "does not end", want, None
        finally:
            weft.compiler.reset()
            weft.set_grad_enabled(True)
    return next((parted(a, b) for a, b in zip(want, got) if a != b), None)


def parted(a, b) -> tuple:
    """The smallest parts of two nested lists that differ."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(parted(x, y) for x, y in zip(a, b) if x != y)
    return "", a, b


def valid(text: str) -> bool:
    """Whether a program can be run at all: its classes and objects can be made."""
    try:
        with warnings.catch_warnings(), drive.alarm(PATIENCE):
            warnings.simplefilter("ignore")
            names = vars(module_of(text, "<fuzzed>"))
    except Exception:  # any error of its own makes it no program
        return False
    return "f" in names and len(names.get("OBJECTS", ())) > 1


def alike(first: tuple, second: tuple | None) -> bool:
    """Whether two differences may have one cause: the same words, or values of the same kind."""
    kind = lambda v: v[1] if isinstance(v, list) and v[:1] == ["RAISED"] else type(v).__name__
    return second is not None and (kind(first[1]), kind(first[2])) == (kind(second[1]), kind(second[2]))


def argued(text: str, compiled=compiled) -> bool:
    """Whether only the moment differs at which something ends (docs/differences.md): a generator that a turn of a loop made, what
    a circle holds that `locals()` made, or what the traceback of an exception holds."""
    if "locals()" in text and differs(text, compiled=compiled, collect=True) is None:
        return True
    if "asking(" in text and ("raise " in text or " as e:" in text) and differs(QUIET_DROP + text, compiled=compiled) is None:
        return True
    loops = "while " in text or "for " in text
    if loops and ".gen(" in text and differs(text.replace("note('closed')", "pass"), compiled=compiled) is None:
        return True
    generators = "counting(" in text or "chained(" in text
    return loops and generators and differs(QUIET_END + text, compiled=compiled) is None


def check(seed: int) -> tuple[str, str] | str | None:
    text = Program(seed).text
    if not valid(text):
        return drive.VOID
    first = differs(text)
    if first is None or argued(text):
        return None
    small = reduced(text, lambda t: valid(t) and alike(first, differs(t)))
    call, want, got = differs(small) or first
    cause = f"{str(want)[:60]} / {str(got)[:60]}"
    return cause, f"{small}\n  plain    {str(want)[:600]}\n  compiled {str(got)[:600]}"


if __name__ == "__main__":
    if "--show" in sys.argv:
        print(Program(int(sys.argv[-1])).text)
    else:
        sys.exit(drive.main("tests.fuzz.python", check))
