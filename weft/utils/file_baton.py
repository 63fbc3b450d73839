"""FileBaton: one of several processes does what the others then find done."""

from __future__ import annotations

import os
import time
import warnings

__all__ = ["FileBaton"]


class FileBaton:
    """Held by whoever made the file. `warn_after_seconds`: how long `wait` waits before it says so."""

    def __init__(self, lock_file_path: str, wait_seconds: float = 0.1, warn_after_seconds: float | None = None) -> None:
        self.lock_file_path, self.wait_seconds, self.warn_after_seconds = lock_file_path, wait_seconds, warn_after_seconds
        self.fd: int | None = None

    def try_acquire(self) -> bool:
        """Whether this process has it now; False if another one does."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Returns once nobody holds it."""
        start, told = time.monotonic(), False
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            if not told and self.warn_after_seconds is not None and time.monotonic() - start > self.warn_after_seconds:
                told = True
                warnings.warn(f"waiting for the lock file {self.lock_file_path!r}: remove it if no process holds it", stacklevel=2)

    def release(self) -> None:
        """Lets the others go on."""
        if self.fd is not None:
            os.close(self.fd)
        os.remove(self.lock_file_path)
