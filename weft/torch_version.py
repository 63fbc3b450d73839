"""Version numbers that compare as versions: "2.10.0" is later than "2.9"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]

_FORM = re.compile(
    r"v?(\d+(?:\.\d+)*)[-_.]?(?:(a|b|rc|alpha|beta|c|pre|preview)[-_.]?(\d*))?(?:[-_.]?post(\d*))?(?:\.?dev(\d*))?(\+\S+)?$"
)
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def _key(version: Any) -> tuple | None:
    """What versions are ordered by (PEP 440, without epochs), or None for what is none."""
    if isinstance(version, Iterable) and not isinstance(version, str):
        version = ".".join(map(str, version))
    found = _FORM.match(str(version).strip().lower())
    if found is None:
        return None
    release, stage, number, post, dev, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    if stage is not None:
        before = (_STAGES.get(stage, stage), int(number or 0))
    else:
        before = ("", 0) if dev is not None and post is None else ("z", 0)  # a development version precedes all others
    return numbers, before, -1 if post is None else int(post or 0), float("inf") if dev is None else int(dev or 0), local or ""


class TorchVersion(str):
    """A string that compares with strings, tuples of numbers and `packaging.version.Version` as a version.

    What is no version is compared as a string.
    """

    __slots__ = ()

    def _ordered(self, other: Any) -> tuple[Any, Any]:
        mine, its = _key(self), _key(other)
        return (str(self), str(other)) if mine is None or its is None else (mine, its)

    def __eq__(self, other: Any) -> bool:
        mine, its = self._ordered(other)
        return mine == its

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        mine, its = self._ordered(other)
        return mine < its

    def __le__(self, other: Any) -> bool:
        mine, its = self._ordered(other)
        return mine <= its

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __hash__ = str.__hash__
