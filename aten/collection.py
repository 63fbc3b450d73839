"""Pausing Python's cyclic garbage collector."""

import gc


class paused_collection:
    """Within it the collector does not run: compiling makes many objects that live, and collections would walk them
    again and again (a third of the time of tracing a large graph)."""

    __slots__ = ("enabled",)

    def __enter__(self) -> None:
        self.enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            gc.enable()
