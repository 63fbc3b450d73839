"""Programs that once killed the process or might: each runs in a forked child, and no child may die or hang.

    python -m tests.fuzz.attempts [NAME OF A FILE ...]

`attempted/*.txt` hold them: a line `## name`, then the program; a line `%name` in it stands for the block of that name.
"""

from __future__ import annotations

import pathlib
import sys
import time

import numpy as np

import weft
from tests.fuzz.children import Outcome, Progress, batches, run

FOLDER = pathlib.Path(__file__).with_name("attempted")
INTERRUPT, PATIENCE = 1.5, 45.0  # seconds: Ctrl-C, then SIGKILL
ALONE = ("set_", "push_level", "threading", "fork", "default", "_C_API")  # what the programs after it would feel
Attempt = tuple[str, str]


def read(topic: str) -> list[Attempt]:
    """(name, program) of a file's attempts."""
    blocks = [block.partition("\n") for block in (FOLDER / f"{topic}.txt").read_text()[3:].split("\n## ")]
    named = {name: text for name, _, text in blocks if name.startswith("%")}

    def whole(text: str) -> str:
        return "\n".join(named.get(line.strip(), line) for line in text.split("\n"))

    return [(name, whole(text)) for name, _, text in blocks if name not in named]


def topics() -> list[str]:
    """The files there are."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def _attempt(name: str, program: str, progress: Progress) -> None:
    """It may raise what it likes, but for what says that native code broke its word."""
    try:
        progress.begin(name)
        exec(compile(program, name, "exec"), {"torch": weft, "weft": weft, "np": np, "F": weft.nn.functional})
    except SystemError as error:
        raise AssertionError(f"SystemError: {error}") from error
    except BaseException as error:
        del error
    finally:
        progress.end()


def _work(attempts: list[Attempt]):
    def work(progress: Progress) -> None:
        for name, program in attempts:
            try:
                _attempt(name, program, progress)
            except KeyboardInterrupt:  # came late
                continue

    return work


def failures(attempts: list[Attempt], batch: int = 40, interrupt: float = INTERRUPT) -> list[Outcome]:
    """What killed or hung a child. Those after it run in another."""
    alone = [a for a in attempts if any(word in a[1] for word in ALONE)]
    rest = [a for a in attempts if a not in alone]
    bad, left = [], [[a] for a in alone] + list(batches(rest, batch))
    while left:
        chosen = left.pop()
        outcome = run(_work(chosen), patience=PATIENCE, interrupt=interrupt)
        if outcome.kind == "ended":
            continue
        bad.append(outcome)
        at = next((i for i, (name, _) in enumerate(chosen) if outcome.at.startswith(name)), len(chosen))
        left += [chosen[at + 1 :]] if chosen[at + 1 :] else []
    return bad


def main() -> int:
    total = killed = 0
    for topic in sys.argv[1:] or topics():
        began, attempts = time.monotonic(), read(topic)
        bad = failures(attempts)
        for outcome in bad:
            print(f"{outcome.kind} {outcome.how}: {outcome.at}")
        print(f"{topic}: {len(attempts)} programs, {len(bad)} killed or hung, {time.monotonic() - began:.1f} s", flush=True)
        total, killed = total + len(attempts), killed + len(bad)
    print(f"{total} programs, {killed} killed or hung")
    return 1 if killed else 0


if __name__ == "__main__":
    sys.exit(main())
