"""The progress bar under `hub.tqdm`: tqdm's where it is installed, else a share on one line of stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

try:
    from tqdm.auto import tqdm
except ImportError:

    class tqdm:  # type: ignore[no-redef]  # the same name, fewer of its manners
        """Counts up to `total` by `update`, or goes over `iterable`; prints unless `disable`d."""

        def __init__(
            self, iterable: Iterable[Any] | None = None, desc: str | None = None, total: int | None = None,
            disable: bool = False, **settings: Any,
        ) -> None:  # fmt: skip
            self.iterable, self.desc, self.disable, self.n = iterable, desc, disable, 0
            self.total = len(iterable) if total is None and hasattr(iterable, "__len__") else total  # type: ignore[arg-type]

        def __iter__(self) -> Iterator[Any]:
            for item in self.iterable or ():
                yield item
                self.update()
            self.close()

        def update(self, n: int = 1) -> None:
            self.n += n
            if not self.disable:
                done = f"{100 * self.n / self.total:.1f}%" if self.total else f"{self.n}"
                sys.stderr.write(f"\r{self.desc}: {done}" if self.desc else f"\r{done}")

        def set_description(self, desc: str | None = None, refresh: bool = True) -> None:
            self.desc = desc

        def set_postfix(self, *args: Any, **values: Any) -> None:
            """Nothing: the line shows the share alone."""

        def close(self) -> None:
            if not self.disable:
                self.disable = True
                sys.stderr.write("\n")

        def __enter__(self) -> tqdm:
            return self

        def __exit__(self, *exception: Any) -> None:
            self.close()


__all__ = ["tqdm"]
