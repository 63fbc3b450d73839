"""The processes that compile Triton functions, as seen from here: requests go out, futures come back.

The server (`compile_server`) is started with the first request and ends with this process. A worker that dies is replaced, its
request tried once more; a server that dies likewise.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any

from inductor.codegen.toolchain import DeviceCompileError
from inductor.cuda import compile_server

TRIES = 2


class _Request:
    def __init__(self, data: dict[str, Any]):
        self.data, self.future, self.tries = data, Future(), 0


class Pool:
    """A server and what it has been asked for."""

    def __init__(self, width: int | None = None):
        self.width = width or max(1, min(8, os.cpu_count() or 1))
        self.lock = threading.Lock()
        self.channel: socket.socket | None = None
        self.process: subprocess.Popen | None = None
        self.asked: dict[int, _Request] = {}
        self.count = 0

    def submit(self, data: dict[str, Any]) -> Future:
        """The future (image, metadata) of a request. It raises DeviceCompileError with Triton's reason."""
        if importlib.util.find_spec("triton") is None:
            raise DeviceCompileError("compiling for a CUDA device needs Triton: pip install 'weft[cuda]'")
        request = _Request(data)
        with self.lock:
            if self.channel is None:
                self._start()
            self._ask(request)
        return request.future

    def _ask(self, request: _Request) -> None:
        self.count += 1
        request.tries += 1
        self.asked[self.count] = request
        assert self.channel is not None
        try:
            compile_server.send(self.channel, (self.count, request.data))
        except OSError:
            pass  # the server has died: whoever reads its answers sees that and asks again

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment.pop("TRITON_INTERPRET", None)
        command = [sys.executable, "-P", compile_server.__file__, str(theirs.fileno()), str(self.width)]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)
        theirs.close()
        self.channel = ours
        threading.Thread(target=self._read, args=(ours,), name="weft compile", daemon=True).start()

    def _read(self, channel: socket.socket) -> None:
        while True:
            try:
                number, kind, *rest = compile_server.receive(channel)
            except (EOFError, OSError):
                self._lost(channel)
                channel.close()
                return
            if number < 0:  # the server's own first kernel
                if kind == "refused":
                    self._refuse_all(channel, rest[0])
                continue
            with self.lock:
                request = self.asked.pop(number, None)
                if request is not None and kind == "died" and request.tries < TRIES:
                    self._ask(request)
                    continue
            if request is None:
                continue
            if kind == "done":
                request.future.set_result(tuple(rest))
            else:
                request.future.set_exception(DeviceCompileError(rest[0]))

    def _refuse_all(self, channel: socket.socket, reason: str) -> None:
        with self.lock:
            asked, self.asked = self.asked, {}
            process = None
            if self.channel is channel:
                self.channel = None
                process, self.process = self.process, None
        if process is not None:
            process.wait()
        for request in asked.values():
            request.future.set_exception(DeviceCompileError(reason))

    def _lost(self, channel: socket.socket) -> None:
        """The server has gone: what it was asked for is asked of another, once."""
        with self.lock:
            if self.channel is not channel:
                return
            self.channel = None
            process, self.process = self.process, None
            asked, self.asked = [*self.asked.values()], {}
            again = [r for r in asked if r.tries < TRIES]
            if again:
                self._start()
                for request in again:
                    self._ask(request)
        code = process.wait() if process is not None else None
        for request in asked:
            if request not in again:
                request.future.set_exception(DeviceCompileError(f"the compile server ended with {code}"))

    def close(self) -> None:
        """End the server."""
        with self.lock:
            channel, self.channel = self.channel, None
            process, self.process = self.process, None
        if channel is not None:
            with contextlib.suppress(OSError):  # the server may have gone
                channel.shutdown(socket.SHUT_RDWR)  # (closing alone ends nothing while a thread reads)
            channel.close()
        if process is not None:
            process.wait(10)


_pool: Pool | None = None
_lock = threading.Lock()


def pool() -> Pool:
    """The one of this process."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool()
            atexit.register(_pool.close)
        return _pool


def _forget() -> None:
    """In a forked child the server is the parent's."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
