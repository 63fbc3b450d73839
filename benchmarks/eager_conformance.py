"""How long every op of the conformance data takes eager beside PyTorch eager, at about a megabyte and as it was recorded.

python -m benchmarks.eager_conformance --peer-python PATH --data FOLDER [--only PATTERN,…] [--seconds S] [--rows FILE]

PATH is a Python in which torch can be imported, FOLDER holds the conformance data (a run_opinfo.py and its ops.zip). The sizes
are those of `conformance_cases`, chosen by weft's calls; "kept" are the recorded few elements. A process of each library builds
the same inputs and measures in turns, one thread each, and the least of each counts; what seems slower than `SLOWEST` is measured
longer. "backward" is the call and its gradients. It prints what is slower than `SLOWEST` times PyTorch, from the worst on, and the
geometric means; the status is not 0 if something fails here that does not there.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.conformance_cases import Case, Cases, with_backward  # noqa: E402  (the peer runs this file by its path)
from benchmarks.libraries import Library, answer, mean  # noqa: E402

SLOWEST = 1.2
TURNS, MORE_TURNS = 3, 7  # of a case, and of one that seems slower
LONGEST = 40  # seconds that an answer may take; then the process is started again


# ------------------------------------------------------------------------------------------------ in each library
class Recorded(Cases):
    """Cases that know how they are built again: the number of their sample, the form and how far it was shrunk."""

    def list(self, op: str) -> list[dict]:
        """What `again` needs for each case of an op, the recorded sizes last."""
        self.built: dict[int, tuple] = {}
        spec, _ = self.data.load(op)
        found = []
        for case in self.of(op):
            sample, form, shrink = self.built[id(case)]
            at = spec["samples"].index(sample)
            found.append({"op": op, "sample": at, "form": form, "shrink": shrink, "name": case.name, "shapes": case.shapes()})
            self.built.clear()
        if all(f["form"] != "kept" for f in found):
            found.append({"op": op, "sample": 0, "form": "kept", "shrink": 1.0, "name": f"{op} [kept]", "shapes": ""})
        return found

    def build(self, spec: dict, sample: dict, blob: bytes, form: str, shrink: float) -> Case | None:
        case = super().build(spec, sample, blob, form, shrink)
        if case is not None and hasattr(self, "built"):
            self.built[id(case)] = sample, form, shrink
        return case

    def again(self, op: str, sample: int, form: str, shrink: float, backward: bool) -> Any:
        """The call of a case as a function without arguments; None where it has no gradient."""
        spec, blob = self.data.load(op)
        case = super().build(spec, spec["samples"][sample], blob, form, shrink)
        assert case is not None
        call: Any = case.fn
        if backward:
            for leaf in case.leaves():
                leaf.requires_grad_()
            call = with_backward(self.torch, call, case.leaves(), call(*case.inputs)) if case.leaves() else None
        return call and (lambda: call(*case.inputs))


def work(library: str, folder: str) -> None:
    """Answer questions on standard input, one a line."""
    if library == "weft":
        import weft as torch
    else:
        import torch
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cases, clock = Recorded(torch, Path(folder)), time.perf_counter
    call: Any = None
    repeat = 1

    def reply(ask: dict) -> Any:
        nonlocal call, repeat
        if "list" in ask:
            return cases.list(ask["list"])
        if "seconds" in ask:
            end, least = clock() + ask["seconds"], math.inf
            while clock() < end:
                start = clock()
                for _ in range(repeat):
                    call()
                least = min(least, (clock() - start) / repeat)
            return least
        call = cases.again(**ask)
        if call is None:
            return None
        call()
        start = clock()
        call()
        took = clock() - start
        repeat = max(1, int(2e-5 / max(took, 1e-7)))
        return took

    answer(reply)


# ------------------------------------------------------------------------------------------------------ in turns
def asked(library: Library, **question: Any) -> Any:
    """The answer, or the error that there was none."""
    try:
        return library.ask(**question)
    except EOFError as error:
        return {"error": str(error)}


def measure(ours: Library, peer: Library, case: dict, backward: bool, seconds: float) -> dict | None:
    """The row of a case; None where the peer cannot, or both have no gradient."""
    place = {key: case[key] for key in ("op", "sample", "form", "shrink")}
    there, here = (asked(library, **place, backward=backward) for library in (peer, ours))
    row = {**case, "pass": "backward" if backward else "forward"}
    if not isinstance(there, float):
        return None
    if not isinstance(here, float):
        return {**row, "error": here["error"] if here else "no gradient here"}
    for turn in range(TURNS + MORE_TURNS):
        if turn >= TURNS and here <= SLOWEST * there:
            break
        for library in (peer, ours):
            took = asked(library, seconds=seconds)
            if isinstance(took, float) and library is peer:
                there = min(there, took)
            elif isinstance(took, float):
                here = min(here, took)
    return {**row, "weft": here, "peer": there, "ratio": here / there}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", help="a Python with torch")
    parser.add_argument("--data", required=True, help="the folder of the conformance data")
    parser.add_argument("--only", default="*", help="patterns of names")
    parser.add_argument("--seconds", type=float, default=0.004, help="for a turn")
    parser.add_argument("--rows", help="a file for the rows, as lines of JSON")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.work, options.data)
    command = [__file__, "--data", options.data, "--work"]
    pythons = (sys.executable, "weft"), (options.peer_python, "torch")
    ours, peer = (Library([python, *command, name], LONGEST) for python, name in pythons)
    rows: list[dict] = []
    ops = [op["id"] for op in json.loads((Path(options.data) / "manifest.json").read_text())["ops"]]
    for op in ops:
        if not any(fnmatch.fnmatch(op, pattern) for pattern in options.only.split(",")):
            continue
        found = asked(ours, list=op)
        if isinstance(found, dict):
            rows.append({"name": op, "form": "list", "pass": "forward", **found})
            continue
        made = [measure(ours, peer, case, backward, options.seconds) for case in found for backward in (False, True)]
        rows += [row for row in made if row is not None]
        if options.rows:
            with open(options.rows, "a") as file:
                file.writelines(json.dumps(row) + "\n" for row in made if row is not None)
    for library in (ours, peer):
        library.end()
    sys.exit(report(rows))


def report(rows: list[dict]) -> int:
    """Print the rows that lose from the slowest on, and what all come to; the exit status."""
    good = sorted((r for r in rows if "ratio" in r), key=lambda r: -r["ratio"])
    for r in good:
        if r["ratio"] > SLOWEST:
            times = f"{r['weft'] * 1e6:10.1f} / {r['peer'] * 1e6:10.1f} us"
            print(f"{r['ratio']:7.2f}x {times}  {r['pass']:8} {r['name']} {r['shapes']}")
    for r in rows:
        if "error" in r:
            print(f"FAILED   {r['pass']:8} {r['name']} {r['error']}")
    for kept in (False, True):
        for way in ("forward", "backward"):
            some = [r["ratio"] for r in good if (r["form"] == "kept") == kept and r["pass"] == way]
            if some:
                slower, sizes = sum(x > SLOWEST for x in some), "as recorded" if kept else "a megabyte"
                print(f"{sizes}, {way}: {len(some)} measured, {slower} slower than {SLOWEST}x, geometric mean {mean(some):.2f}x")
    return int(len(good) < len(rows))


if __name__ == "__main__":
    main()
