"""A library that measures in a process of its own: it answers questions, one JSON object a line, and two of them go in turns."""

from __future__ import annotations

import json
import math
import select
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any


def answer(reply: Callable[[dict], Any]) -> None:
    """Answer what stands on standard input; an error is an answer too, which the other side counts as a failure of the case."""
    for line in sys.stdin:
        try:
            said = reply(json.loads(line))
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(said), flush=True)


class Library:
    """Such a process."""

    def __init__(self, command: list[str], longest: float | None = None):
        self.command, self.longest = command, longest
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question: Any) -> Any:
        """The answer to a question. EOFError if the process ended, or took too long and was ended: it is started again."""
        assert self.process.stdin and self.process.stdout
        try:
            print(json.dumps(question), file=self.process.stdin, flush=True)
            ready = self.longest is None or select.select([self.process.stdout], [], [], self.longest)[0]
            line = self.process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        self.end()
        status = self.process.wait()
        self.start()
        raise EOFError(f"the process ended with {status}")

    def end(self) -> None:
        self.process.kill()


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean."""
    logarithms = [math.log(x) for x in ratios]
    return math.exp(sum(logarithms) / len(logarithms))
