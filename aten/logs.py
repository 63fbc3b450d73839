"""Log channels: `log = logs.get("fusion"); if log.on: log(text)`. `WEFT_LOGS=fusion,kernels` turns channels on."""

import sys

from aten import settings

CHANNELS = {
    "graph": "captured graphs, and the forward and backward graphs made of them",
    "guards": "what must hold for a compiled function to be used again",
    "breaks": "where and why a function runs as several graphs, or eager",
    "recompiles": "why a function was compiled again",
    "passes": "core graphs after inductor's passes",
    "loops": "the loops that a core graph becomes",
    "fusion": "which loops share a kernel",
    "program": "the steps of a call",
    "kernels": "the text of kernels",
    "cache": "hits, misses and calls of the C++ compiler",
    "autotune": "how fast the schedules ran that max_autotune tried",
}


class Log:
    """One channel. `on` says whether anyone listens: ask it before making an expensive text."""

    __slots__ = ("name", "on")

    def __init__(self, name: str, on: bool):
        self.name = name
        self.on = on

    def __call__(self, text: object) -> None:
        if self.on:
            lines = str(text).rstrip("\n").split("\n")
            sys.stderr.write("".join(f"[{self.name}] {line}\n" for line in lines))

    def __repr__(self) -> str:
        return f"<log {self.name}: {'on' if self.on else 'off'}>"


def _wanted(text: str) -> set[str]:
    names = {name.strip() for name in text.split(",") if name.strip()}
    for name in sorted(names - CHANNELS.keys() - {"all"}):
        raise ValueError(f"there is no log channel {name!r}; known: all, {', '.join(CHANNELS)}")
    return CHANNELS.keys() if "all" in names else names


def get(name: str) -> Log:
    """The channel of that name. Raises KeyError for one that CHANNELS does not list."""
    return _channels[name]


def set_logs(names: str) -> None:
    """Turn on exactly the channels in the comma-separated `names` ("all": every one). Raises ValueError for an unknown
    one."""
    wanted = _wanted(names)
    settings.logs = names
    for log in _channels.values():
        log.on = log.name in wanted


_channels = {name: Log(name, False) for name in CHANNELS}
set_logs(settings.logs)
