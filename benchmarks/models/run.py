"""One model in one process: `python -m benchmarks.models.run NAME --data FILE --out FILE [--torch]`.

--data: initial parameters and inputs; written if it is not there, taken from it if it is. --out: the arrays of every phase (.npz)
with the facts as JSON under the name `facts`. --torch: PyTorch itself; otherwise `import torch` means weft.
"""

import argparse
import importlib
import json
from pathlib import Path

import numpy as np

from benchmarks.models import BREAKS


def arguments():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.run", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--trace", action="store_true", help="print where each failure came from")
    return parser.parse_args()


def main():
    options = arguments()
    if not options.torch:
        import weft  # here: the interpreter with PyTorch does not have it

        weft.as_torch()
    import torch  # here: only now is it known which

    from benchmarks.models.phases import Run

    given = None
    if options.data.exists():
        with np.load(options.data) as stored:
            given = dict(stored)
    run = Run(torch, importlib.import_module(f"benchmarks.models.{options.name}"), given, options.name not in BREAKS)
    if given is None:
        np.savez(options.data, **run.start)
    run.eager()
    run.count()
    if not options.no_compile:
        run.compile()
    if options.time:
        run.time()
    traces = run.facts.pop("tracebacks", {})
    if options.trace:
        print("\n".join(traces.values()))
    np.savez(options.out, facts=json.dumps(run.facts | {"failures": run.failures}), **run.arrays)


if __name__ == "__main__":
    main()
