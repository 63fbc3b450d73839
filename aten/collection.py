"""Pausing Python's cyclic garbage collector."""

import gc
import sys


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


class lasting_imports(paused_collection):
    """The same around imports: what they made lives on, so it counts as old at once, and no collection but a full one walks it."""

    __slots__ = ("known",)

    def __enter__(self) -> None:
        super().__enter__()
        self.known = len(sys.modules)

    def __exit__(self, *exc: object) -> None:
        if len(sys.modules) > self.known and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        super().__exit__(*exc)
