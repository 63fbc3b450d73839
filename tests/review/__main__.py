"""`python -m tests.review`: every program of the review plain and compiled, and which of them differ.

    --pairs               the operation × object pairs instead of the programs
    --all                 both
    --backend inductor    (eager: capture alone)
    --only NAME …         groups, programs, or parts of their names
    --quiet               only those that differ
    --names               one name a line of those that differ, as in known.txt

The exit status is the number that differ (255 at most) of those that docs/ does not argue for.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.review import groups, known, runner


def chosen(options) -> list[tuple[str, list[str]]]:
    picked = groups.PAIRS if options.pairs else groups.PROGRAMS
    if options.all:
        picked = groups.PROGRAMS + groups.PAIRS
    if options.only and set(options.only) <= set(picked):
        picked = options.only
    found = []
    for group in picked:
        names = runner.names_of(group)
        if options.only and group not in options.only:
            names = [n for n in names if any(n == o or o == f"{group}.{n}" or (len(o) > 3 and o in n) for o in options.only)]
        if names:
            found.append((group, names))
    return found


def tell(group: str, answer: dict, options, reasons: dict) -> bool:
    """Prints a case; whether it differs without a reason."""
    full = f"{group}.{answer['name']}"
    if answer["same"]:
        if not (options.quiet or options.names):
            print(f"  same     {answer['name']:40} {counted(answer)} {' | '.join(answer['warnings'])[:100]}")
        return False
    if full in reasons:
        if not options.names:
            print(f"  argued   {answer['name']:40} {reasons[full]}")
        return False
    if options.names:
        print(full)
    else:
        print(f"  DIFFERS  {answer['name']:40} {counted(answer)} {' | '.join(answer['warnings'])[:100]}")
        width = 100000 if options.only else 400
        print(f"      plain     {answer['plain'][:width]}\n      compiled  {answer['compiled'][:width]}")
    return True


def counted(answer) -> str:
    return " ".join(f"{k} {v}" for k, v in sorted(answer["counters"].items()) if v)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.review", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    reasons, table, start = known.argued(options.backend), [], time.time()
    for group, names in chosen(options):
        if not options.names:
            print(group, flush=True)
        differ = sum(tell(group, a, options, reasons) for a in runner.run(group, options.backend, names))
        table.append((group, len(names), differ))
    total = sum(d for _, _, d in table)
    if not options.names:
        print(f"\n{'':14} cases  differ")
        for group, count, differ in [*table, ("all", sum(n for _, n, _ in table), total)]:
            print(f"{group:14} {count:5}  {differ:5}")
        print(f"Python {known.HERE}, backend {options.backend}, {time.time() - start:.0f} s")
    return min(total, 255)


if __name__ == "__main__":
    sys.exit(main())
