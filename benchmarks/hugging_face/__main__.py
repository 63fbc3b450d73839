"""Model files of transformers under weft and under PyTorch: `python -m benchmarks.hugging_face [NAME …] --peer-python PATH`.

Both interpreters need transformers (not torchvision or timm). Small random models, the same initial state on both sides:
outputs, and gradients of the mean of their squares, eager and compiled (`fullgraph=True` but where PyTorch breaks as well). A
cell is the largest difference to PyTorch's eager as a share of what float32 is allowed (benchmarks/models/compare.py): up to
1.00 agrees.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.hugging_face.configurations import BREAKS, MODELS

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("outputs", "gradients", "compiled outputs", "compiled gradients", "first step s")


def side(python, folder, names, *extra):
    """The facts of each model in one interpreter, as they come."""
    command = [python, "-m", "benchmarks.hugging_face.run", folder, *names, *extra]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **quiet) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith('{"name"'):  # not what transformers logs
                yield json.loads(line)


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hugging_face", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(MODELS))
    parser.add_argument("--peer-python", metavar="PATH", required=True, help="an interpreter with PyTorch and transformers")
    options = parser.parse_args()
    names = options.names or list(MODELS)
    print("| model | " + " | ".join(COLUMNS) + " |  |\n|" + " --- |" * (len(COLUMNS) + 2))
    failures, agree = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for facts in side(options.peer_python, folder, names, "--torch"):
            failures += [f"{facts['name']}, PyTorch: {text}" for text in facts.get("failures", ())]
        for facts in side(sys.executable, folder, names):
            failures += [f"{facts['name']}: {text}" for text in facts.get("failures", ())]
            agree += not facts.get("failures")
            cells = [f"{facts[c]:.2f}" if c in facts else "–" for c in COLUMNS]
            note = "differs" if facts.get("failures") else "breaks" if facts["name"] in BREAKS else ""
            print(f"| {facts['name']} | " + " | ".join(cells) + f" | {note} |", flush=True)
    print(f"\n{agree} of {len(names)} agree")
    for name in sorted(BREAKS.keys() & set(names)):
        print(f"- {name} breaks: {BREAKS[name]}")
    print(*[f"- {text}" for text in failures], sep="\n")
    return 0 if agree == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
