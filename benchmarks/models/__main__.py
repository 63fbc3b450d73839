"""Models as PyTorch users write them, under weft and under PyTorch: `python -m benchmarks.models [NAME …] [--peer-python PATH]`.

Each runs in a process of its own: outputs, gradients, three steps of SGD, the same compiled (fullgraph=True), three other sizes.
A cell is the largest difference as a share of what float32 is allowed (benchmarks/models/compare.py): up to 1.00 agrees. Compiled
is compared with eager of the same side. --time adds milliseconds of a forward and backward, and PyTorch's compiler.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.models import BREAKS, NAMES
from benchmarks.models.compare import PHASES, difference, load, of_phase

ROOT = Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(NAMES))
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with PyTorch")
    parser.add_argument("--time", action="store_true", help="also milliseconds, eager and compiled")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one model may take on one side")
    parser.add_argument("--out", type=Path, help="write all as JSON")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no model {', '.join(sorted(unknown))}")
    return options


def process(python, name, data, out, limit, extra):
    """The arrays and facts of one model on one side, or what went wrong."""
    command = [python, "-m", "benchmarks.models.run", name, "--data", str(data), "--out", str(out), *extra]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {}, {"failures": {"process": f"not done in {limit:.0f} s"}}
    if done.returncode:
        return {}, {"failures": {"process": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}}
    return load(out)


def model(name, options):
    """One row: differences of every phase, to the peer and between compiled and eager; compilations, breaks, times, failures."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "data.npz"), Path(folder, "out.npz")
        extra = ["--time"] * options.time
        arrays, facts = process(sys.executable, name, data, out, options.limit, extra)
        row = {"name": name, "failures": facts["failures"], "compilations": facts.get("compilations")}
        row["breaks"] = None if "graphs" not in facts else facts["graphs"] - 1
        row["ms"] = [facts.get("eager ms"), facts.get("compiled ms")]
        row["compiled"] = {p: difference(of_phase(arrays, f"compiled {p}"), of_phase(arrays, p), p) for p in PHASES}
        if options.peer_python and data.exists():
            extra += ["--torch", "--no-compile"]
            peer, facts = process(options.peer_python, name, data, out, options.limit, extra)
            row["peer"] = {phase: difference(of_phase(arrays, phase), of_phase(peer, phase), phase) for phase in PHASES}
            row["peer failures"], row["peer compilations"] = facts["failures"], facts.get("compilations")
            row["peer breaks"] = None if "graphs" not in facts else facts["graphs"] - 1
            row["peer ms"] = [facts.get("eager ms"), facts.get("compiled ms")]
    near = all(share <= 1 for key in ("compiled", "peer") for share, _ in row.get(key, {}).values())
    row["agrees"] = near and not row["failures"] and (not row["breaks"] or name in BREAKS)
    return row


def columns(options):
    """(heading, row -> cell) of the table."""
    def of(key, phase):
        return lambda row: "–" if key not in row else f"{row[key][phase][0]:.2f}"

    def shown(value, form="{}"):
        return "–" if value is None else form.format(value)

    cells = [("model", lambda row: row["name"])]
    if options.peer_python:
        cells += [(phase, of("peer", phase)) for phase in PHASES]
    cells += [(f"compiled {phase}", of("compiled", phase)) for phase in PHASES]
    cells += [("compilations", lambda row: shown(row["compilations"])), ("breaks", lambda row: shown(row["breaks"]))]
    if options.peer_python:
        cells += [("PyTorch's", lambda row: f"{shown(row.get('peer compilations'))}, {shown(row.get('peer breaks'))}")]
    if options.time:
        for side, key in (("weft", "ms"), ("PyTorch", "peer ms"))[: 1 + bool(options.peer_python)]:
            for i, how in enumerate(("eager", "compiled")):
                cells.append((f"{side} {how} ms", lambda row, key=key, i=i: shown(row.get(key, [None] * 2)[i], "{:.2f}")))
    return [*cells, ("", lambda row: "" if row["agrees"] else "differs")]


def summary(rows):
    agree = sum(row["agrees"] for row in rows)
    lines = [f"{agree} of {len(rows)} agree"]
    for row in rows:
        if row["breaks"]:
            lines.append(f"- {row['name']} breaks: {BREAKS.get(row['name'], 'not documented')}")
    for row in rows:
        for key in ("failures", "peer failures"):
            lines += [f"- {row['name']}, {key}, {phase}: {text.splitlines()[0]}" for phase, text in row.get(key, {}).items()]
        for key in ("peer", "compiled"):
            far = {phase: pair for phase, pair in row.get(key, {}).items() if pair[0] > 1}
            lines += [f"- {row['name']}, {key}, {phase}: {share:.2f} at {where}" for phase, (share, where) in far.items()]
    return "\n".join(lines)


def main():
    options = arguments()
    table = columns(options)
    print("| " + " | ".join(heading for heading, _ in table) + " |")
    print("| " + " | ".join("---" for _ in table) + " |")
    rows = []
    for name in options.names or NAMES:
        rows.append(model(name, options))
        print("| " + " | ".join(cell(rows[-1]) for _, cell in table) + " |", flush=True)
    print("\n" + summary(rows))
    if options.out:
        options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return 0 if all(row["agrees"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
