"""Mapping proxies from outside: what they show is the dict behind them, as the traced program changes it."""

from __future__ import annotations

import types

from dynamo.source import Source
from dynamo.variables.mapping import DictVariable


class ProxyVariable(DictVariable):
    """A proxy of the dict `behind`, whose entries are its own."""

    __slots__ = ("behind",)

    def __init__(self, behind: DictVariable, source: Source):
        self.behind = behind
        super().__init__(behind.entries, types.MappingProxyType, source=source)

    @property
    def entries(self) -> dict:  # type: ignore[override]
        return self.behind.entries

    @entries.setter
    def entries(self, entries: dict) -> None:
        assert entries is self.behind.entries, "a proxy cannot be changed"

    @property
    def shape(self) -> int:  # type: ignore[override]
        return self.behind.shape

    @shape.setter
    def shape(self, shape: int) -> None:
        assert shape == 0, "a proxy cannot be changed"

    def key(self, frame, item):
        return self.behind.key(frame, item)

    def getitem(self, frame, key):
        return self.behind.getitem(frame, key)
