"""Which ops of the conformance data are slower compiled than eager, on one thread, at about a megabyte of input.

python -m benchmarks.never_slower [--data FOLDER] [--only PATTERN,…] [--seconds S] [--jobs N] [--again | --fresh | --list]

Every op runs eager and by weft.compile, forward, and forward with backward where it has gradients, the two in turns, minimum
of many; `benchmarks.conformance_cases` says how the calls are made. Whatever seems slower is measured once more, five times as
long. Results stand in a file, a line a case: a run that was interrupted goes on from there; `--fresh` begins anew, `--again`
measures what loses once more, `--list` only prints. A case loses if compiled reaches less than 0.9 of eager's speed and the
difference is more than `SLACK`, which is a call's own cost; it fails if it takes longer than `LONGEST_CASE`, raises where eager
does not, or ends the process. The status is not 0 if a case loses or fails that is not among the exceptions.
All 658 ops take about 25 minutes in two processes on two cores, half of that where the kernels are in the cache.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.conformance_cases import DTYPES, Case, Cases, Missing, with_backward

DATA = Path(__file__).resolve().parents[2] / "shared" / "conformance" / "opinfo"
RESULTS = Path(tempfile.gettempdir()) / f"weft-never-slower-{os.getuid()}.jsonl"
LEAST = 0.9
SLACK = 2e-6  # seconds
SHORTEST = 2e-4  # of a window that is timed
LONGEST_CASE = 60  # seconds without a word from a worker
MOST_MEMORY = 6 << 30  # of a worker

# {pattern of a case's name: why it may lose}
EXCEPTIONS: dict[str, str] = {
    "unbind [*": "thousands of results: what is compiled hands out each in 0.35 us, eager in 0.27",
    "split [float32 rows]": "thousands of results: what is compiled hands out each in 0.33 us, eager in 0.26",
    "unsafe_split [float32 rows]": "thousands of results: what is compiled hands out each in 0.33 us, eager in 0.26",
    "split [float32 rows] backward": "thousands of gradients, of the same op and node: the collector walks the captured graph, too",
    "unsafe_split [float32 rows] backward": "as split",
    "unbind_copy *": "thousands of results, of the same op: the collector walks the captured graph, too",
    "cumsum [int64 sizes]": "a vector of sums is stored twice, as results and for the row below; blocks of 64 to 4096 are alike",
    "softmax/with_dtype *": "eight float64 at a time: rotating sums and the exponential's constants do not fit the registers",
    "log_softmax/with_dtype *": "eight float64 at a time: rotating sums and the exponential's constants do not fit the registers",
    "nn.functional.softmin/with_dtype *": "as softmax",
    "linalg.det [float32 sizes] backward": "repeated values are a singular matrix, whose gradient takes singular values; else 1.15",
    "nn.functional.grid_sample [float32 rows]*": "places outside: zeros are added at the border; 2.9 where all are inside",
    "grid_sampler_?d [float32 rows] backward": "as grid_sample, it seems: 0.9 to 1.2 of random places",
    "searchsorted [*": "a sorter, and one value: all of the row is gathered, by lanes in 60 us, by the op in 45",
    "nn.functional.logsigmoid [float32 sizes] backward": "two exponentials in a loop, and a factor is stored for the backward",
    "special.i?e [int64 sizes]": "the same cast and op as eager: 0.75 to 1.05 from process to process, alone 0.97 to 1",
    "bfloat16 [int64 sizes]": "the rounding asks for NaN, which integers never are: 2.5 us of 19",
    "nn.functional.bilinear [float32 rows]*": "rows of 3 and 4 elements, a sum each; of 10 and 12 it is 1.5",
}


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


def measure(torch: Any, case: Case, seconds: float, backward: bool) -> dict | None:
    """The line of a case, forward or with backward; None if it has no gradients."""
    torch.compiler.reset()
    case = replace(case, inputs=[t.detach() for t in case.inputs])
    calls: list[Any] = [case.fn, torch.compile(case.fn)]
    row: dict[str, Any] = {"name": name_of(case, backward), "call": case.source, "shapes": case.shapes()}
    try:
        if backward:
            for t in case.leaves():
                t.requires_grad_()
            calls = [with_backward(torch, f, case.leaves(), case.fn(*case.inputs)) for f in calls]
            if calls[0] is None:
                return None
        calls[0](*case.inputs)
    except Exception as e:
        return {**row, "skipped": f"eager: {type(e).__name__}: {e}"[:200]}  # no comparison without eager
    for _ in range(2):
        calls[1](*case.inputs)
    best = in_turns(calls, case.inputs, seconds)
    if loses(*best):
        best = [min(pair) for pair in zip(best, in_turns(calls, case.inputs, 5 * seconds))]
    return {**row, "eager": best[0], "compiled": best[1]}


def name_of(case: Case, backward: bool) -> str:
    return case.name + (" backward" if backward else "")


def loses(eager: float, compiled: float) -> bool:
    return compiled > eager / LEAST and compiled - eager > SLACK


def work(options: argparse.Namespace) -> int:
    """A worker: from stdin, as JSON, an op and the names of its cases that are done; results as lines of JSON on stdout, before
    each the name of what is begun."""
    import weft

    warnings.simplefilter("ignore")
    weft.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))  # a form that takes more is none
    cases = Cases(weft, Path(options.data))
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    say = lambda **row: print(json.dumps(row), file=out)
    say(ready=True)
    for line in sys.stdin:
        op, done = json.loads(line)
        found: Iterator[Case] = cases.of(op, tuple(options.dtypes.split(",")))
        while case := next(found, None):
            for backward in (False, True) if case.leaves() else (False,):
                name = name_of(case, backward)
                if name in done:
                    continue
                say(begun=name)
                try:
                    row = measure(weft, case, options.seconds, backward)
                except Exception as e:
                    row = {"name": name, "failed": f"{type(e).__name__}: {e}"[:300]}
                if row is not None:
                    say(op=op, **row)
        say(op=op, done=True)
    return 0


class Worker:
    """A process that measures ops; started again if a case ends it or takes too long."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.process: subprocess.Popen | None = None

    def start(self) -> subprocess.Popen:
        command = [sys.executable, "-m", "benchmarks.never_slower", "--as-worker", "--data", str(self.options.data)]
        command += ["--seconds", str(self.options.seconds), "--dtypes", self.options.dtypes]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        process.stdout.readline()
        return process

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def run(self, op: str) -> list[dict]:
        """The rows of an op. Where the process ends, the case that it had begun has failed and the others are asked for again."""
        rows: list[dict] = []
        while True:
            begun = None
            for row in self.answers(op, [r["name"] for r in rows]):
                begun = row.get("begun")
                if begun is None:
                    rows.append(row)
                if row.get("done"):
                    return rows
            code = self.process.wait()
            self.stop()
            why = f"no result within {LONGEST_CASE} s" if code == -signal.SIGKILL else f"the process ended with {code}"
            rows.append({"op": op, "name": begun or op, "failed": why})
            if begun is None:  # the cases themselves could not be made
                return [*rows, {"op": op, "done": True}]

    def answers(self, op: str, done: list[str]) -> Iterator[dict]:
        """What the process says of an op; it is killed if it says nothing for long."""
        process = self.process = self.process or self.start()
        try:
            process.stdin.write(json.dumps([op, done]) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return
        while True:
            timer = threading.Timer(LONGEST_CASE, process.kill)
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line:
                return
            yield json.loads(line)


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
    """Print what loses, what failed and what was skipped; whether all that loses or failed is excepted."""
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
    for r in rows:
        if "failed" in r:
            good &= reason(r["name"]) is not None
            print(f"failed: {r['name']}: {r['failed'][:110]}")
        elif "skipped" in r:
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
        bad = {r["op"] for r in rows if "skipped" in r or "failed" in r or ("eager" in r and loses(r["eager"], r["compiled"]))}
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
