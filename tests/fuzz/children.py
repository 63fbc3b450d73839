"""Work that may kill the process, in forked children: a child says in shared memory what it is about to do, so that the
call at which it died, or hung, is known."""

from __future__ import annotations

import mmap
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

_TEXT = 4096
MEMORY = 3 << 30  # address space of a child, where nothing like a sanitizer's shadow takes more


class Outcome(NamedTuple):
    """How a child ended. `kind`: "ended", "killed" (by a signal or an exit of its own) or "hung"."""

    kind: str
    how: str  # the signal's name
    at: str  # what it was about to do
    done: int  # steps that were begun


class Progress:
    """Shared with the parent: a count of steps, and the text of the one that is running."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 16 + _TEXT)
        self.began = float("inf")  # in the child: when the step that may be interrupted did

    def begin(self, text: str) -> None:
        """A step begins."""
        data = text.encode(errors="backslashreplace")[: _TEXT - 1] + b"\0"
        self.memory[16 : 16 + len(data)] = data
        self.memory[0:8] = (self.steps + 1).to_bytes(8, "little")
        self.began = time.monotonic()

    def end(self) -> None:
        """The step is over: nothing interrupts what comes before the next."""
        self.began = float("inf")

    @property
    def steps(self) -> int:
        return int.from_bytes(self.memory[0:8], "little")

    @property
    def text(self) -> str:
        return bytes(self.memory[16:]).split(b"\0")[0].decode(errors="replace")


def sanitized() -> bool:
    """Whether a sanitizer runs beneath, whose shadow memory takes terabytes of addresses."""
    with open("/proc/self/maps") as maps:
        return "libasan" in maps.read()


def _limit(memory: int) -> None:
    """No core files, and `memory` bytes of addresses beyond those that the parent has: a simulated device reserves plenty."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not sanitized():
        with open("/proc/self/statm") as sizes:
            most = int(sizes.read().split()[0]) * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _interrupt(progress: Progress, after: float) -> None:
    if time.monotonic() - progress.began > after:
        progress.began = time.monotonic()
        raise KeyboardInterrupt


def _child(work: Callable[[Progress], None], progress: Progress, memory: int, interrupt: float) -> None:
    status = 1
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        if not sanitized():  # whose reports are wanted
            os.dup2(null, 2)
        _limit(memory)
        if interrupt:
            signal.signal(signal.SIGALRM, lambda *_: _interrupt(progress, interrupt))
            signal.setitimer(signal.ITIMER_REAL, interrupt / 2, interrupt / 2)
        work(progress)
        status = 0
    except BaseException as error:  # the parent reads the text
        progress.begin(f"{progress.text}\n{type(error).__name__} left the child: {error}")
    finally:
        os._exit(status)


def run(work: Callable[[Progress], None], *, patience: float = 60, memory: int = MEMORY, interrupt: float = 0) -> Outcome:
    """Run `work(progress)` in a forked child, which hangs if no step begins for `patience` seconds.

    With `interrupt`, KeyboardInterrupt is raised in steps that take so many seconds: what can be interrupted does not hang.
    """
    progress = Progress()
    pid = os.fork()
    if pid == 0:
        _child(work, progress, memory, interrupt)
    steps, since, pause = -1, time.monotonic(), 0.001
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if progress.steps != steps:
            steps, since = progress.steps, time.monotonic()
        elif time.monotonic() - since > patience:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Outcome("hung", "", progress.text, progress.steps)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    if os.WIFSIGNALED(status):
        return Outcome("killed", signal.Signals(os.WTERMSIG(status)).name, progress.text, progress.steps)
    code = os.WEXITSTATUS(status)
    return Outcome("killed" if code else "ended", f"exit {code}" if code else "", progress.text, progress.steps)


def batches(steps: list, size: int) -> Iterator[list]:
    """The steps, so many at a time."""
    for start in range(0, len(steps), size):
        yield steps[start : start + size]
