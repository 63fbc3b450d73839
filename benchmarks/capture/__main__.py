"""Programs captured whole: `python -m benchmarks.capture [NAME …] [--peer-python PATH]`.

For each program, with fullgraph=True: whether results and gradients equal plain ones, graphs compiled for 200 varying sizes (at
most 3), microseconds of capture an operation (at most 150; operations in graphs of functions that a graph calls count too), and
nanoseconds of a call without what its graph computes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_COMPILATIONS, MOST_US = 3, 150


def side(python, names, extra):
    """The rows of one side."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        command = [python, "-m", "benchmarks.capture.run", *names, "--out", str(out), *extra]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
        if done.returncode and not out.exists():
            sys.exit(f"{python} could not run the programs")
        return json.loads(out.read_text())


def cells(row):
    if row is None:
        return ["–"] * 5
    if "failure" in row:
        return [row["failure"][:60], "–", "–", "–", "–"]
    equal = "yes" if row["equal"] else "NO"
    return [equal, str(row["compilations"]), str(row["ops"]), f"{row['us an op']:.0f}", f"{row['ns a call']:.0f}"]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capture", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with PyTorch")
    options = parser.parse_args()
    ours = side(sys.executable, options.names, [])
    peer = side(options.peer_python, options.names, ["--torch"]) if options.peer_python else None
    heads = ["equal", "graphs", "ops", "us an op", "ns a call"]
    print("| program | " + " | ".join(heads + ([f"PyTorch {h}" for h in heads] if peer else [])) + " |")
    print("|---" * (1 + len(heads) * (2 if peer else 1)) + "|")
    for name, row in ours.items():
        print(f"| {name} | " + " | ".join(cells(row) + (cells(peer.get(name)) if peer else [])) + " |")
    good = [r for r in ours.values() if "failure" not in r and r["equal"] and r["compilations"] <= MOST_COMPILATIONS]
    for title, rows in (("weft", ours), ("PyTorch", peer or {})):
        whole = [r for r in rows.values() if "failure" not in r]
        if whole:
            us, ns = (statistics.median(r[key] for r in whole) for key in ("us an op", "ns a call"))
            every = sum(r["us an op"] * r["ops"] for r in whole) / max(sum(r["ops"] for r in whole), 1)
            print(f"\n{title}: {len(whole)} of {len(rows)} whole; capture of all takes {every:.0f} us an op")
            print(f"medians of the programs: {us:.0f} us an op of capture, {ns:.0f} ns a call")
    print(
        f"weft: {len(good)} of {len(ours)} programs are equal, whole, and compiled at most {MOST_COMPILATIONS} times for 200 sizes"
    )
    slow = [n for n, r in ours.items() if r.get("us an op", 0) > MOST_US]
    if slow:
        print(f"capture takes more than {MOST_US} us an operation: {', '.join(slow)}")
    sys.exit(len(good) < len(ours))


if __name__ == "__main__":
    main()
