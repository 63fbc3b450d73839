"""Runs a fuzzer's seeds for a time, in a child process: a crash and a hang are findings as well, and the next seed goes on.

python -m tests.fuzz.NAME --seconds 60 --seed 0      seeds 0, 1, 2 …
python -m tests.fuzz.NAME --only SEED                one seed, in this process
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

Check = Callable[[int], tuple[str, str] | str | None]  # seed → (cause in few words, report), None or VOID
VOID = "no program"  # of a seed whose program cannot be run at all
IGNORED = "Exception ignored in: <code object"  # raised in a frame hook, which has nobody to tell
PROCESSOR, CLOCK = 150, 900  # seconds that a seed may take, its reduction included, before its process is ended
MEMORY = 12 << 30  # bytes of a seed's process: `list(zip(a, b))` of endless ranges ends for want of them, as no signal stops it
SEEDS_OF_A_PROCESS = 3000  # kernels stay mapped as long as their process lives, and it may have 65,530 maps


class OutOfTime(BaseException):
    """A program takes too long. No Exception: the program shall not handle it."""


@contextlib.contextmanager
def alarm(seconds: float):
    """OutOfTime where the main thread is after so much time of the processor: a busy machine changes no answer. It comes again
    and again, for what it is raised in may swallow it (a finalizer, a bare except)."""

    def ring(signum, frame):
        raise OutOfTime(f"longer than {seconds} s")

    old = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.5)
    try:
        yield
    except BaseExceptionGroup as group:  # except* makes one of what is raised in its clauses
        if group.subgroup(OutOfTime) is None:
            raise
        raise OutOfTime(f"longer than {seconds} s") from group
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


class Limits(NamedTuple):
    """Seconds of the processor and of the clock that a seed may take."""

    processor: float = PROCESSOR
    clock: float = CLOCK


class Watch:
    """Ends a process that says nothing for too long; its Python stack goes to its stderr. A hang inside one call of C hears no
    signal that Python handles."""

    def __init__(self, process: subprocess.Popen, limits: Limits):
        self.process, self.limits = process, limits
        self.hung = False
        self.heard()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def heard(self) -> None:
        self.since = self.used(), time.monotonic()

    def used(self) -> float:
        """Seconds of the processor that the process took so far."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def look(self) -> None:
        while not self.done.wait(min(1, self.limits.clock / 10)):
            processor, clock = self.since
            if self.used() - processor > self.limits.processor or time.monotonic() - clock > self.limits.clock:
                self.hung = True
                self.process.send_signal(signal.SIGABRT)  # faulthandler says where it is
                if self.done.wait(10):
                    return
                self.process.kill()
                return

    def close(self) -> None:
        self.done.set()
        self.thread.join()


def worker(check: Check, first: int, seconds: float, most: int) -> None:
    """Seeds from `first` on, a line before each and one for each difference."""
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # (whose shadow takes terabytes)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    out, end = sys.stdout, time.monotonic() + seconds
    for seed in range(first, first + most):
        if time.monotonic() >= end:
            return
        print(json.dumps({"seed": seed}), file=out, flush=True)
        found = check(seed)
        if found == VOID:
            print(json.dumps({"seed": seed, "void": True}), file=out, flush=True)
        elif isinstance(found, tuple):
            print(json.dumps({"seed": seed, "cause": found[0], "report": found[1]}), file=out, flush=True)


class Told(NamedTuple):
    """How many seeds ran, how many of them were no programs, and the reports by cause, each with its seed."""

    seeds: int
    void: int
    reports: dict[str, tuple[int, str]]


def run(
    module: str, seconds: float, seed: int, tell=print, most: int = 10**9, limits: Limits = Limits(), known: Collection[int] = ()
) -> Told:
    """Run seeds from `seed` on for a time, at most so many, those that are known to differ left out."""
    reports: dict[str, tuple[int, str]] = {}

    def found(cause: str, text: str) -> None:
        if cause not in reports and seed not in known:
            reports[cause] = seed, text
            tell(f"seed {seed}: {text}\n")

    void = 0
    first, last, end = seed, seed + most, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and seed < last:
        env = os.environ | {"WEFT_STRICT": "1", "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-X", "faulthandler", "-m", module, "--worker"]
        command += ["--seconds", str(left), "--seed", str(seed), "--most", str(min(last - seed, SEEDS_OF_A_PROCESS))]
        with tempfile.TemporaryFile("w+") as errors:  # (a pipe that nobody reads fills, and stops who writes)
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=env) as process:
                assert process.stdout is not None
                watch = Watch(process, limits)
                for line in process.stdout:
                    said = json.loads(line)
                    watch.heard()
                    seed = said["seed"]
                    void += "void" in said
                    if "report" in said:
                        found(said["cause"], said["report"])
                process.wait()
                watch.close()
            errors.seek(0)
            text = errors.read()
        if watch.hung:
            found(f"seed {seed} does not end", f"does not end\n{text[-3000:]}")
        elif process.returncode:
            found(f"seed {seed} ends the process", f"ends the process: {process.returncode}\n{text[-3000:]}")
        elif IGNORED in text:
            found(IGNORED, f"or one before it: {text[text.index(IGNORED) :][:3000]}")
        seed += 1
    return Told(seed - first, void, reports)


def main(module: str, check: Check) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--only", type=int)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.only is not None:
        found = check(options.only)
        print(found[1] if isinstance(found, tuple) else f"seed {options.only}: {found or 'no difference'}")
        return isinstance(found, tuple)
    if options.worker:
        worker(check, options.seed, options.seconds, options.most)
        return 0
    count, void, reports = run(module, options.seconds, options.seed, lambda text: print(text, flush=True), options.most)
    print(f"{count} seeds from {options.seed}, {void} no programs, Python {sys.version.split()[0]}: {len(reports)} differences")
    if void > count // 2:
        print("most seeds are no programs")
        return 1
    return min(len(reports), 255)
