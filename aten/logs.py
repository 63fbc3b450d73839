"""Log channels: `log = logs.get("fusion"); if log.on: log(text)`. `WEFT_LOGS=fusion,kernels` turns channels on."""

import sys

from aten import settings


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


_channels: dict[str, Log] = {}


def _wanted(text: str) -> set[str]:
    return {name.strip() for name in text.split(",") if name.strip()}


def get(name: str) -> Log:
    """The channel of that name (made on first use)."""
    log = _channels.get(name)
    if log is None:
        wanted = _wanted(settings.logs)
        log = _channels[name] = Log(name, name in wanted or "all" in wanted)
    return log


def set_logs(names: str) -> None:
    """Turn on exactly the channels in the comma-separated `names` ("all": every one)."""
    settings.logs = names
    wanted = _wanted(names)
    for log in _channels.values():
        log.on = log.name in wanted or "all" in wanted
