"""Runs groups of cases in child processes: a crash or a hang costs its case, not the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

from tests.review import groups

PATIENCE = 120  # seconds that one child may be silent


def names_of(group: str) -> list[str]:
    return list(groups.cases(group))


def run(group: str, backend: str, names: list[str], python: str = sys.executable):
    """Yields the answer of every case of `names`."""
    names = list(names)
    while names:
        done = 0
        for answer in child(group, backend, names, python):
            done += 1
            yield answer
        names = names[done:]


def child(group: str, backend: str, names: list[str], python: str):
    """The answers of one child; the last one tells of its death, if it died."""
    env = os.environ | {"WEFT_STRICT": os.environ.get("WEFT_STRICT", "1"), "PYTHONHASHSEED": "0"}
    command = [python, "-X", "faulthandler", "-m", "tests.review.child", group, backend]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env, cwd=groups.FOLDER.parents[1])
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
    reader.start()
    process.stdin.write("\n".join(names))
    process.stdin.close()
    started = None
    watch = _watch(process)
    for line in process.stdout:
        watch.cancel()
        said = json.loads(line)
        if "start" in said:
            started = said["start"]
        else:
            started = None
            yield said
        watch = _watch(process)
    watch.cancel()
    code = process.wait()
    reader.join()
    process.stdout.close()
    process.stderr.close()
    if code and started is None:
        raise RuntimeError(f"{group}: the child failed outside of its cases\n" + "".join(errors[-20:]))
    if code:
        died = f"died with {code}: " + "".join(errors[-12:])
        yield {"name": started, "same": False, "warnings": [], "counters": {}, "plain": "", "compiled": died}


def _watch(process) -> threading.Timer:
    timer = threading.Timer(PATIENCE, process.kill)
    timer.daemon = True
    timer.start()
    return timer
