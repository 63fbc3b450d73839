"""Runs cases of one group in this process, a line of JSON before and after each: `child GROUP BACKEND NAME…`."""

from __future__ import annotations

import json
import sys

from tests.review import groups


def main(group: str, backend: str) -> None:
    out, cases = sys.stdout, groups.cases(group)
    for name in sys.stdin.read().split("\n"):
        print(json.dumps({"start": name}), file=out, flush=True)
        v = cases[name](backend)
        answer = {"name": name, "same": v.same, "warnings": v.warnings, "counters": v.counters}
        if not v.same:
            answer |= {"plain": repr(v.plain), "compiled": repr(v.compiled)}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
