"""Lines of code per folder: non-blank lines that are not comments, of Python, C++ and headers. python -m benchmarks.code_size"""

from __future__ import annotations

import argparse
import io
import subprocess
import tokenize
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IGNORED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def python_lines(text: str) -> int:
    """Lines that hold a token other than a comment; docstrings count."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in IGNORED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def cpp_lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def count() -> dict[str, dict[str, int]]:
    """{folder: {suffix: lines}} of the files that git tracks, by top folder and its first level."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sizes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name in names:
        path = ROOT / name
        kind = {".py": "python", ".cpp": "c++", ".h": "c++", ".c": "c++"}.get(path.suffix)
        if kind is None or "/" not in name or not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        lines = python_lines(text) if kind == "python" else cpp_lines(text)
        parts = name.split("/")
        sizes[parts[0]][kind] += lines
        if len(parts) > 2:
            sizes["/".join(parts[:2])][kind] += lines
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", help="ignored: there is nothing to compare in one run")
    parser.parse_args()
    sizes = count()
    total: dict[str, int] = defaultdict(int)
    print(f"{'folder':28s} {'Python':>8s} {'C++':>8s}")
    for folder in sorted(sizes):
        row = sizes[folder]
        indent = "  " * folder.count("/")
        print(f"{indent + folder.split('/')[-1]:28s} {row['python']:8d} {row['c++']:8d}")
        if "/" not in folder:
            for kind, lines in row.items():
                total[kind] += lines
    print(f"{'all':28s} {total['python']:8d} {total['c++']:8d}")


if __name__ == "__main__":
    main()
