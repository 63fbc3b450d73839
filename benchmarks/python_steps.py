"""How many calls of operators run Python when compiled: `python -m benchmarks.python_steps --data FOLDER [--samples N] [OP …]`.

For each operator of the conformance data its first N samples that a compiler is expected to capture whole: whether a Program made
of it has a `Python` step or it is divided into stages, between which operations run in Python; and whether it is no Program but
runs by its own operations, as one operation with a kernel of its own does, or a view. Prints the shares, and the operators.
"""

from __future__ import annotations

import argparse
import fnmatch
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import weft
from aten import settings
from aten.aot import stages
from benchmarks.conformance_cases import reader
from inductor import loading


class Seen:
    """The steps of the programs that are loaded, and whether a graph was divided."""

    def __init__(self) -> None:
        self.steps: Counter[str] = Counter()
        self.divided = False
        self.programs = 0
        load, init = loading.load, stages.Stage.__init__

        def loaded(gm: Any, manifest: dict, *args: Any, **kwargs: Any) -> Any:
            for part in manifest.values():
                if isinstance(part, dict) and "program" in part:
                    self.programs += 1
                    self.steps.update(step[0] for step in part["program"]["steps"])
            return load(gm, manifest, *args, **kwargs)

        def made(stage: Any, *args: Any, **kwargs: Any) -> None:
            self.divided = True
            init(stage, *args, **kwargs)

        loading.load, stages.Stage.__init__ = loaded, made  # type: ignore[assignment, method-assign]

    def clear(self) -> None:
        self.steps.clear()
        self.divided = False
        self.programs = 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.python_steps", description=__doc__)
    parser.add_argument("ops", nargs="*", default=["*"], metavar="OP")
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--samples", type=int, default=1, metavar="N")
    options = parser.parse_args()
    module = reader(options.data)
    data = module.DataSet(str(options.data))
    settings.cache = False
    warnings.simplefilter("ignore")
    seen, count, failed = Seen(), 0, []
    found: dict[str, list[str]] = {"a Python step": [], "stages": [], "no Program": []}
    how = {"dtypes": (), "mode": "compile", "all_compile": False, "variant": "function", "limit": options.samples}
    for op in data.manifest["ops"]:
        if not any(fnmatch.fnmatchcase(op["id"], pattern) for pattern in options.ops):
            continue
        spec, blob = data.load(op["id"])
        for k in module.applicable(spec, how):
            weft._dynamo.reset()
            seen.clear()
            source, constants = module.call_source(spec, spec["samples"][k])
            inputs = module.inputs_of(weft, spec, spec["samples"][k], blob)
            count += 1
            try:
                weft.compile(module.make_fn(weft, source, constants), fullgraph=True)(*inputs)
            except Exception as e:  # one sample's failure is its row
                failed.append(f"{op['id']} {k}: {type(e).__name__}")
                continue
            whole = None if seen.programs else "no Program"
            kind = "a Python step" if seen.steps["Python"] else "stages" if seen.divided else whole
            if kind is not None:
                found[kind].append(op["id"])
    for row in failed:
        print(f"failed: {row}")
    for kind, ops in found.items():
        print(f"{kind}: {len(ops)} of {count} samples ({len(ops) / max(count, 1):.1%}): {', '.join(dict.fromkeys(ops))}")


if __name__ == "__main__":
    main()
