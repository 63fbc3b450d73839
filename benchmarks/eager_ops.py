"""How long ops take eager beside PyTorch eager: forward, forward with history and backward, at about a megabyte and at 64
elements, on one thread; with "usual" the most used ops at the sizes of models.

python -m benchmarks.eager_ops --peer-python PATH [--only PATTERN,…] [--sizes large,small,usual] [--threads N] [--seconds S]
                               [--rows FILE]

PATH is a Python in which torch can be imported. A process of each library holds the same inputs; they measure every case in
turns, a few milliseconds at a time, so that both meet the same noise, and the least of each counts. "recorded" is the forward
call with floating inputs that require grad; backward is a call of autograd.grad on a graph that is kept, with respect to those
inputs. Peak memory is that of the process above what it held before, for large inputs. A case loses if it is slower than
`SLOWEST` times the peer. The status is not 0 if a case loses, fails where the peer does not, or the geometric mean is above
`MEAN`.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

SLOWEST, MEAN = 1.2, 0.5
WINDOW = 3e-3  # seconds that a turn takes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.eager_cases import cases_of, inputs_of  # noqa: E402  (the peer runs this file by its path)
from benchmarks.libraries import Library, answer, mean  # noqa: E402


# ------------------------------------------------------------------------------------------------ in each library
def _calls(torch: Any, size: str, name: str) -> dict[str, Any]:
    """{pass: function} of a case; backward where its result has a history."""
    names = inputs_of(torch, size)
    code = compile(cases_of(size)[name], name, "eval")
    scope = {"torch": torch, "F": torch.nn.functional, **names}
    calls = {"forward": lambda: eval(code, scope)}
    used = [k for k in code.co_names if k in names and getattr(names[k], "is_floating_point", lambda: False)()]
    leaves = {k: names[k].detach().clone().requires_grad_() for k in used}
    with_leaves = {**scope, **leaves}
    try:
        out = eval(code, with_leaves)
    except (RuntimeError, NotImplementedError):
        return calls
    outs = [t for t in (out if isinstance(out, (tuple, list)) else [out]) if hasattr(t, "requires_grad") and t.requires_grad]
    if outs and used:
        calls["recorded"] = lambda: eval(code, with_leaves)
        g = torch.ones_like(outs[0])
        xs = list(leaves.values())
        try:
            torch.autograd.grad(outs[0], xs, g, retain_graph=True, allow_unused=True)
        except (RuntimeError, NotImplementedError):
            return calls
        calls["backward"] = lambda: torch.autograd.grad(outs[0], xs, g, retain_graph=True, allow_unused=True)
    return calls


def _peak(call: Any) -> int:
    """Bytes by which the process grew at most during a call."""
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")
    read = lambda key: int(next(line for line in status.read_text().splitlines() if line.startswith(key)).split()[1]) << 10
    before = read("VmRSS")
    kept = call()
    peak = read("VmHWM")
    del kept
    return max(0, peak - before)


def _repetitions(call: Any) -> int:
    """How many calls take a turn, known from the least of some: what is called for the first times may load and learn."""
    least, end, n = math.inf, time.perf_counter() + WINDOW, 0
    while n < 3 or (n < 20 and time.perf_counter() < end):
        start = time.perf_counter()
        call()
        least, n = min(least, time.perf_counter() - start), n + 1
    return max(1, min(5000, int(WINDOW / max(least, 1e-7))))


def work(library: str, threads: int) -> None:
    """Answer questions on standard input, one a line."""
    if library == "weft":
        import weft as torch
    else:
        import torch
    torch.set_num_threads(threads)
    calls: dict[str, Any] = {}
    repeat: dict[str, int] = {}
    clock = time.thread_time if threads == 1 else time.perf_counter

    def reply(ask: dict) -> Any:
        if ask["do"] == "open":
            torch.manual_seed(0)
            calls.clear()
            calls.update(_calls(torch, ask["size"], ask["name"]))
            for key, call in calls.items():
                repeat[key] = _repetitions(call)
            return list(calls)
        if ask["do"] == "peak":
            return _peak(calls[ask["pass"]])
        call, n = calls[ask["pass"]], repeat[ask["pass"]]
        start = clock()
        for _ in range(n):
            call()
        return (clock() - start) / n

    answer(reply)


# ------------------------------------------------------------------------------------------------------ in turns
def measure(ours: Library, peer: Library, name: str, size: str, seconds: float) -> list[dict]:
    """A row for each pass of a case."""
    opened = [library.ask(do="open", name=name, size=size) for library in (ours, peer)]
    if isinstance(opened[1], dict):
        return []
    if isinstance(opened[0], dict):
        return [{"name": name, "size": size, "pass": "forward", "error": opened[0]["error"]}]
    rows = []
    for key in opened[1]:
        if key not in opened[0]:
            rows.append({"name": name, "size": size, "pass": key, "error": "no gradient here"})
            continue
        best, end, turns = [math.inf, math.inf], time.perf_counter() + seconds, 0
        while time.perf_counter() < end or turns < 3:
            turns += 1
            for k, library in enumerate((ours, peer)):
                best[k] = min(best[k], library.ask(**{"do": "time", "pass": key}))
        row = {"name": name, "size": size, "pass": key, "weft": best[0], "peer": best[1], "ratio": best[0] / best[1]}
        if size != "small":
            row["peaks"] = [library.ask(**{"do": "peak", "pass": key}) for library in (ours, peer)]
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", help="a Python with torch")
    parser.add_argument("--only", default="*", help="patterns of names")
    parser.add_argument("--sizes", default="large,small")
    parser.add_argument("--seconds", type=float, default=0.06, help="for a pass of a case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", help="a file for the rows, as lines of JSON")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.threads)
    command = [__file__, "--threads", str(options.threads), "--work"]
    ours, peer = (Library([python, *command, name]) for python, name in ((sys.executable, "weft"), (options.peer_python, "torch")))
    rows: list[dict] = []
    patterns = options.only.split(",")
    for size in options.sizes.split(","):
        for name in cases_of(size):
            if not any(fnmatch.fnmatch(name, p) for p in patterns):
                continue
            try:
                made = measure(ours, peer, name, size, options.seconds)
            except EOFError as error:
                made = [{"name": name, "size": size, "pass": "forward", "error": str(error)}]
            rows += made
            if options.rows:
                with open(options.rows, "a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in made)
    for library in (ours, peer):
        library.end()
    sys.exit(report(rows))


def report(rows: list[dict]) -> int:
    """Print the rows from the slowest on, and what they come to; the exit status."""
    good = sorted((r for r in rows if "ratio" in r), key=lambda r: -r["ratio"])
    for r in good:
        memory = f"  peak {r['peaks'][0] >> 10:7} / {r['peaks'][1] >> 10:7} kB" if "peaks" in r else ""
        times = f"{r['weft'] * 1e6:10.1f} / {r['peer'] * 1e6:10.1f} us"
        print(f"{r['ratio']:7.2f}x  {r['name']:26} {r['size']:5} {r['pass']:8} {times}{memory}")
    for r in rows:
        if "error" in r:
            print(f"FAILED   {r['name']:26} {r['size']:5} {r['pass']:8} {r['error']}")
    if not good:
        return 1
    average = mean(r["ratio"] for r in good)
    slower = sum(r["ratio"] > SLOWEST for r in good)
    print(f"{len(good)} measured, {slower} slower than {SLOWEST}x, geometric mean {average:.2f}x, {len(rows) - len(good)} failed")
    return int(slower > 0 or average > MEAN or len(good) < len(rows))


if __name__ == "__main__":
    main()
