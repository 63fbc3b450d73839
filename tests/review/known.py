"""The cases that are known to differ: `known.txt` is to be mended, `argued.txt` stays, each with its reason in docs/."""

from __future__ import annotations

import sys

from tests.review.groups import FOLDER

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def read(file: str, backend: str = "eager") -> dict[str, str]:
    """`group.name` → reason, of the lines that speak of this Python and this backend.

    A line is `group.name  [only=3.11,3.12] [backend=inductor]  reason`.
    """
    found = {}
    for line in (FOLDER / file).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, *rest = line.split()
        limits = dict(w.split("=") for w in rest if w.startswith(("only=", "backend=")))
        if HERE in limits.get("only", HERE).split(",") and limits.get("backend", backend) == backend:
            found[name] = " ".join(w for w in rest if not w.startswith(("only=", "backend=")))
    return found


def known(backend: str = "eager") -> dict[str, str]:
    return read("known.txt", backend)


def argued(backend: str = "eager") -> dict[str, str]:
    return read("argued.txt", backend)
