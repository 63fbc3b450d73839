"""Runs a fuzzer's seeds for a time, in a child process: a crash is a finding as well, and the next seed goes on.

python -m tests.fuzz.NAME --seconds 60 --seed 0      seeds 0, 1, 2 …
python -m tests.fuzz.NAME --only SEED                one seed, in this process
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

Check = Callable[[int], tuple[str, str] | str | None]  # seed → (cause in few words, report), None or VOID
VOID = "no program"  # of a seed whose program cannot be run at all


@contextlib.contextmanager
def alarm(seconds: float):
    """TimeoutError where the main thread is after so much time of the processor: a busy machine changes no answer."""

    def ring(signum, frame):
        raise TimeoutError(f"longer than {seconds} s")

    old = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def worker(check: Check, seed: int, seconds: float) -> None:
    """Seeds from `seed` on, a line before each and one for each difference."""
    out, end = sys.stdout, time.monotonic() + seconds
    while time.monotonic() < end:
        print(json.dumps({"seed": seed}), file=out, flush=True)
        found = check(seed)
        if found == VOID:
            print(json.dumps({"seed": seed, "void": True}), file=out, flush=True)
        elif found:
            print(json.dumps({"seed": seed, "cause": found[0], "report": found[1]}), file=out, flush=True)
        seed += 1


def run(module: str, seconds: float, seed: int, tell=print) -> tuple[int, int, dict[str, str]]:
    """How many seeds ran, how many of them were no programs, and the reports by cause."""
    reports: dict[str, str] = {}
    void = 0
    first, end = seed, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        env = os.environ | {"WEFT_STRICT": "1", "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-X", "faulthandler", "-m", module, "--worker", "--seconds", str(left), "--seed", str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
            for line in process.stdout:
                said = json.loads(line)
                seed = said["seed"]
                void += "void" in said
                if "report" in said and said["cause"] not in reports:
                    reports[said["cause"]] = said["report"]
                    tell(f"seed {seed}: {said['report']}\n")
            errors = process.stderr.read()
        seed += 1
        if process.returncode:
            cause = f"seed {seed - 1} ends the process: {process.returncode}"
            reports[cause] = errors[-3000:]
            tell(f"{cause}\n{errors[-3000:]}\n")
    return seed - first, void, reports


def main(module: str, check: Check) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.only is not None:
        found = check(options.only)
        print(found[1] if isinstance(found, tuple) else f"seed {options.only}: {found or 'no difference'}")
        return isinstance(found, tuple)
    if options.worker:
        worker(check, options.seed, options.seconds)
        return 0
    count, void, reports = run(module, options.seconds, options.seed, lambda text: print(text, flush=True))
    if void > count // 2:
        reports["void"] = "most seeds are no programs"
    print(f"{count} seeds from {options.seed}, {void} no programs, Python {sys.version.split()[0]}: {len(reports)} differences")
    return min(len(reports), 255)
