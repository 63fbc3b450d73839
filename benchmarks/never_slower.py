"""Which ops of the conformance data are slower compiled than eager, on one thread, at about a megabyte of input.

python -m benchmarks.never_slower [--data FOLDER] [--only PATTERN,…] [--seconds S] [--jobs N] [--again | --fresh | --list]

Every op runs eager and by weft.compile, forward, and forward with backward where it has gradients, the two in turns, minimum
of many; `benchmarks.conformance_cases` says how the calls are made. Whatever seems slower is measured once more, five times as
long. Results stand in a file, a line a case: a run that was interrupted goes on from there; `--fresh` begins anew, `--again`
measures what loses once more, `--list` only prints. A case loses if compiled reaches less than 0.9 of eager's speed and the
difference is more than `SLACK`, which is a call's own cost. The status is not 0 if a case loses that is not among the exceptions.
All 658 ops take about 25 minutes in two processes on two cores, half of that where the kernels are in the cache.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.conformance_cases import DTYPES, Case, Cases, Missing, tensors

DATA = Path(__file__).resolve().parents[2] / "shared" / "conformance" / "opinfo"
RESULTS = Path(tempfile.gettempdir()) / f"weft-never-slower-{os.getuid()}.jsonl"
LEAST = 0.9
SLACK = 2e-6  # seconds
SHORTEST = 2e-4  # of a window that is timed
LONGEST_OP = 180  # seconds without a word from a worker

# {pattern of a case's name: why it may lose}
EXCEPTIONS: dict[str, str] = {}


def window(call: Callable, inputs: list, repeat: int) -> float:
    """Seconds a call; the result is freed at once."""
    start = time.perf_counter()
    for _ in range(repeat):
        call(*inputs)
    return (time.perf_counter() - start) / repeat


def in_turns(calls: list[Callable], inputs: list, seconds: float) -> list[float]:
    """The best seconds of each call."""
    first = [window(call, inputs, 1) for call in calls]
    repeat = [max(1, min(200, int(SHORTEST / max(t, 1e-8)))) for t in first]
    best = [float("inf")] * len(calls)
    end, rounds = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or rounds < 3:
        rounds += 1
        for k, call in enumerate(calls):
            best[k] = min(best[k], window(call, inputs, repeat[k]))
    return best


def with_backward(torch: Any, fn: Callable, leaves: list, result: Any) -> Callable | None:
    """A call that also asks for the gradients of `leaves`, and throws them away."""
    tangents = [(k, torch.ones_like(t)) for k, t in enumerate(tensors(torch, result)) if t.requires_grad]
    if not tangents:
        return None

    def call(*inputs):
        found = tensors(torch, fn(*inputs))
        torch.autograd.grad([found[k] for k, _ in tangents], leaves, [g for _, g in tangents], allow_unused=True)

    return call


def measure(torch: Any, case: Case, seconds: float) -> list[dict]:
    """What a case gives: one line forward, one with backward."""
    rows = []
    for backward in (False, True):
        torch.compiler.reset()
        inputs = [t.detach() for t in case.inputs]
        calls = [case.fn, torch.compile(case.fn)]
        if backward:
            leaves = [inputs[k] for k in case.differentiable if inputs[k].dtype.is_floating_point]
            if not leaves:
                continue
            for t in leaves:
                t.requires_grad_()
            calls = [with_backward(torch, f, leaves, case.fn(*inputs)) for f in calls]
            if calls[0] is None:
                continue
        row = {"name": case.name + (" backward" if backward else ""), "call": case.source, "shapes": case.shapes()}
        rows.append(row)
        try:
            calls[0](*inputs)
        except Exception as e:
            row["skipped"] = f"eager: {type(e).__name__}: {e}"[:200]  # no comparison without eager
            continue
        for _ in range(2):
            calls[1](*inputs)
        best = in_turns(calls, inputs, seconds)
        if loses(*best):
            best = [min(pair) for pair in zip(best, in_turns(calls, inputs, 5 * seconds))]
        row["eager"], row["compiled"] = best
    return rows


def loses(eager: float, compiled: float) -> bool:
    return compiled > eager / LEAST and compiled - eager > SLACK


def work(options: argparse.Namespace) -> int:
    """A worker: ops by name from stdin, results as lines of JSON on stdout."""
    import weft

    warnings.simplefilter("ignore")
    weft.set_num_threads(1)
    cases = Cases(weft, Path(options.data))
    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"ready": True}), file=say)
    for line in sys.stdin:
        op = line.strip()
        try:
            for case in cases.of(op, tuple(options.dtypes.split(","))):
                for row in measure(weft, case, options.seconds):
                    print(json.dumps({"op": op, **row}), file=say)
        except Exception as e:
            print(json.dumps({"op": op, "name": op, "skipped": f"{type(e).__name__}: {e}"[:300]}), file=say)
        print(json.dumps({"op": op, "done": True}), file=say)
    return 0


class Worker:
    """A process that measures ops; started again if one kills it or takes too long."""

    def __init__(self, options: argparse.Namespace):
        self.options, self.process = options, None

    def start(self) -> None:
        command = [sys.executable, "-m", "benchmarks.never_slower", "--as-worker", "--data", str(self.options.data)]
        command += ["--seconds", str(self.options.seconds), "--dtypes", self.options.dtypes]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.process.stdout.readline()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def run(self, op: str) -> list[dict]:
        if self.process is None:
            self.start()
        process, rows = self.process, []
        timer = threading.Timer(LONGEST_OP, process.kill)
        timer.start()
        try:
            process.stdin.write(op + "\n")
            process.stdin.flush()
            while line := process.stdout.readline():
                row = json.loads(line)
                if row.get("done"):
                    return [*rows, row]
                rows.append(row)
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        code = process.wait()
        self.stop()
        return [*rows, {"op": op, "name": op, "skipped": f"the worker ended with {code}"}, {"op": op, "done": True}]


def run(options: argparse.Namespace, ops: list[str], file: Path) -> None:
    """Measure `ops`, appending to the file."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    for op in ops:
        todo.put(op)
    lock = threading.Lock()

    def lane() -> None:
        worker = Worker(options)
        try:
            while True:
                try:
                    op = todo.get_nowait()
                except queue.Empty:
                    return
                rows = worker.run(op)
                with lock, file.open("a") as out:
                    out.writelines(json.dumps(row) + "\n" for row in rows)
                    if sys.stderr.isatty():
                        sys.stderr.write(f"\r\x1b[2K{len(ops) - todo.qsize()}/{len(ops)} {op}")
        finally:
            worker.stop()

    lanes = [threading.Thread(target=lane) for _ in range(max(1, options.jobs))]
    for t in lanes:
        t.start()
    for t in lanes:
        t.join()


def reason(name: str) -> str | None:
    """Why a case may lose; None if it may not. Brackets in patterns are meant as they stand."""
    for pattern, why in EXCEPTIONS.items():
        if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")):
            return why
    return None


def report(rows: list[dict]) -> bool:
    """Print what loses and what was skipped; whether all that loses is excepted."""
    measured = [r for r in rows if "eager" in r]
    losing = sorted((r for r in measured if loses(r["eager"], r["compiled"])), key=lambda r: r["eager"] / r["compiled"])
    good = True
    print(f"{'eager':>9}{'compiled':>10}{'ratio':>7}   microseconds")
    for r in losing:
        why = reason(r["name"])
        good &= why is not None
        ratio = r["eager"] / r["compiled"]
        times = f"{r['eager'] * 1e6:9.1f}{r['compiled'] * 1e6:10.1f}{ratio:7.2f}"
        print(f"{times}   {r['name']}   {r['call'][:70]}  {r['shapes'][:60]}" + (f"   ({why})" if why else ""))
    skipped = [r for r in rows if "skipped" in r]
    for r in skipped:
        print(f"not measured: {r['name']}: {r['skipped'][:110]}")
    ops = len({r["op"] for r in measured})
    unexcused = sum(reason(r["name"]) is None for r in losing)
    print(f"{len(measured)} cases of {ops} ops; {len(losing)} below {LEAST}x eager, {unexcused} of them without a reason here")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the conformance data")
    parser.add_argument("--only", default="*", help="ops, as patterns with commas between them")
    parser.add_argument("--dtypes", default=",".join(DTYPES), help="of the samples, with commas between them")
    parser.add_argument("--seconds", type=float, default=0.06, help="how long each case is measured (default 0.06)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"the file of results (default {RESULTS})")
    parser.add_argument("--fresh", action="store_true", help="forget what is in the file of results")
    parser.add_argument("--list", action="store_true", help="print what the file of results says, measure nothing")
    parser.add_argument("--again", action="store_true", help="measure anew the ops of which a case loses")
    parser.add_argument("--as-worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_worker:
        return work(options)
    try:
        names = Cases(None, options.data).ids()
    except Missing as e:
        print(e, file=sys.stderr)
        return 2
    names = [n for n in names if any(fnmatch.fnmatchcase(n, p) for p in options.only.split(","))]
    rows = [] if options.fresh else known(options.results)
    if options.again:
        bad = {r["op"] for r in rows if "skipped" in r or ("eager" in r and loses(r["eager"], r["compiled"]))}
        rows = [r for r in rows if r["op"] not in bad or r["op"] not in names]
    if not options.list:
        options.results.write_text("".join(json.dumps(r) + "\n" for r in rows))
        done = {r["op"] for r in rows if r.get("done")}
        run(options, [n for n in names if n not in done], options.results)
    return 0 if report([r for r in known(options.results) if r["op"] in names]) else 1


def known(file: Path) -> list[dict]:
    """The rows of a file of results, of ops that were measured to the end."""
    if not file.exists():
        return []
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    done = {r["op"] for r in rows if r.get("done")}
    return [r for r in rows if r["op"] in done]


if __name__ == "__main__":
    sys.exit(main())
