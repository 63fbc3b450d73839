"""The workers of a DataLoader, seen from the main process: tasks to them, batches from them, and what goes wrong."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any

from weft.utils.data import shared_memory
from weft.utils.data.worker import ENDED, RESUME, ExceptionWrapper, Job, WorkerInfo, run

GRACE = 5.0
"""Seconds that a worker has to end by itself once its socket is closed."""


_ours: weakref.WeakSet[socket.socket] = weakref.WeakSet()


def _close_in_child() -> None:
    """A process that is forked off gets copies of all sockets: with one kept open, a worker would not see its parent go."""
    for sock in list(_ours):
        sock.close()


os.register_at_fork(after_in_child=_close_in_child)


class WorkerPool:
    """Keeps `prefetch_factor` tasks a worker on their way, and hands out batches in order, or as they come."""

    def __init__(self, loader: Any, base_seed: int, keys: Iterator[Any]) -> None:
        self.timeout, self.in_order, self.persistent = loader.timeout, loader.in_order, loader.persistent_workers
        self.ahead = loader.prefetch_factor * loader.num_workers
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self.processes: list[Any] = []
        self.sockets: list[socket.socket] = []
        self._finalizer = weakref.finalize(self, _close, self.processes, self.sockets, os.getpid())
        for i in range(loader.num_workers):
            self._start_worker(context, loader, i, base_seed)
        self._begin(keys)

    def _start_worker(self, context: Any, loader: Any, i: int, base_seed: int) -> None:
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        info = WorkerInfo(i, loader.num_workers, base_seed + i, loader.dataset)
        main = threading.current_thread() is threading.main_thread()
        job = Job(loader._make_fetcher(), info, base_seed, loader.worker_init_fn, os.getpid(), main)
        _ours.add(mine)
        self.sockets.append(mine)
        process = context.Process(target=run, args=(job, theirs), daemon=True)
        try:
            with warnings.catch_warnings():
                # Python warns of forks beside threads. Ours stand still between calls, and the child starts its own.
                warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
                process.start()
        finally:
            theirs.close()
        self.processes.append(process)

    def _begin(self, keys: Iterator[Any]) -> None:
        count = len(self.processes)
        self.keys, self.sent, self.wanted, self.turn = keys, 0, 0, 0
        self.active = [True] * count
        self.tasks: dict[int, tuple[int, Any]] = {}  # number of a batch on its way: its worker and keys
        self.done: dict[int, Any] = {}  # batches that came before their turn
        for _ in range(self.ahead):
            self._send_next()

    def reset(self, keys: Iterator[Any]) -> None:
        """Starts over with the same workers, once they have finished what is on its way."""
        if not self._finalizer.alive:
            raise RuntimeError("DataLoader: its workers have ended, so that it cannot be iterated again")
        for i, sock in enumerate(self.sockets):
            shared_memory.send(sock, RESUME)
            while self._receive(i)[0] != RESUME:
                pass  # a batch of the iteration before
        self._begin(keys)

    # ------------------------------------------------------------------------------------------------------ tasks
    def _send_next(self) -> None:
        """Gives the next task to the next worker in turn, if there are both."""
        try:
            keys = next(self.keys)
        except StopIteration:
            return
        for _ in self.processes:
            worker, self.turn = self.turn, (self.turn + 1) % len(self.processes)
            if self.active[worker]:
                break
        else:
            return
        self._send_to(worker, keys)

    def _send_to(self, worker: int, keys: Any) -> None:
        self.tasks[self.sent] = worker, keys
        try:
            shared_memory.send(self.sockets[worker], (self.sent, keys), inline=512)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has died: the wait for its batch tells
        self.sent += 1

    def next(self) -> Any:
        """The next batch. Raises StopIteration at the end, after which the workers are gone unless they persist."""
        deadline = time.monotonic() + self.timeout if self.timeout > 0 else None
        while True:
            number = self._ready()
            if number is not None:
                return self._hand_out(number)
            if not self.tasks:
                if not self.persistent:
                    self.close()
                raise StopIteration
            self._wait(deadline)

    def _ready(self) -> int | None:
        """The number of a batch that may be handed out now."""
        if not self.in_order:
            return next(iter(self.done), None)
        while self.wanted < self.sent and self.wanted not in self.tasks and self.wanted not in self.done:
            self.wanted += 1  # of a worker whose iterator has ended
        return self.wanted if self.wanted in self.done else None

    def _hand_out(self, number: int) -> Any:
        data = self.done.pop(number)
        self.wanted = max(self.wanted, number + 1) if self.in_order else self.wanted
        self._send_next()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    # ----------------------------------------------------------------------------------------------------- batches
    def _wait(self, deadline: float | None) -> None:
        """Takes in what workers have sent; raises if none does in time, or one has died."""
        waited_for = {worker for worker, _ in self.tasks.values()}
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = connection.wait([self.sockets[i] for i in waited_for], left)
        if not ready:
            number = min(self.tasks)
            worker = self.tasks[number][0]
            pid = self.processes[worker].pid
            text = self._doing(worker)
            self.close(grace=0)
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds: worker {worker} (pid {pid}) {text}")
        for worker in waited_for:
            if self.sockets[worker] in ready:
                self._take(worker)

    def _take(self, worker: int) -> None:
        number, data = self._receive(worker)
        if number not in self.tasks:
            raise RuntimeError(f"DataLoader worker {worker} sent a batch {number!r} that nobody asked for")
        del self.tasks[number]
        if isinstance(data, str) and data == ENDED:
            self.active[worker] = False
            for other in [n for n, (w, _) in self.tasks.items() if w == worker]:
                del self.tasks[other]
            self._send_next()
        else:
            self.done[number] = data

    def _receive(self, worker: int) -> Any:
        try:
            message = shared_memory.receive(self.sockets[worker])
        except EOFError:
            self._died(worker)
        except Exception as error:
            error.add_note(f"while a batch of DataLoader worker {worker} was read: it {self._doing(worker)}")
            raise
        if not (isinstance(message, tuple) and len(message) == 2):
            raise RuntimeError(f"DataLoader worker {worker} sent {type(message).__name__}, which is no batch")
        return message

    def _doing(self, worker: int) -> str:
        """What a worker that does not answer is at, in words."""
        numbers = [n for n, (w, _) in self.tasks.items() if w == worker]
        if not numbers:
            return "had no batch to make"
        keys = repr(self.tasks[min(numbers)][1])
        return f"was making batch {min(numbers)} of indices {keys if len(keys) <= 200 else keys[:200] + '…'}"

    def _died(self, worker: int) -> None:
        process, text = self.processes[worker], self._doing(worker)
        process.join(GRACE)
        code, pid = process.exitcode, process.pid
        self.close(grace=0)
        if code is not None and code < 0:
            name = signal.strsignal(-code) or f"signal {-code}"
            raise RuntimeError(f"DataLoader worker {worker} (pid {pid}) is killed by signal: {name}. It {text}")
        raise RuntimeError(
            f"DataLoader worker {worker} (pid(s) {pid}) exited unexpectedly with exit code {code}. It {text}"
        )

    def close(self, grace: float = GRACE) -> None:
        """Ends all workers; no process stays."""
        if self._finalizer.detach():
            _close(self.processes, self.sockets, os.getpid(), grace)


def _close(processes: list[Any], sockets: list[socket.socket], owner: int, grace: float = GRACE) -> None:
    if os.getpid() != owner:
        return  # a copy in a process that was forked off: not its children
    for sock in sockets:
        sock.close()
    deadline = time.monotonic() + grace
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    for process in processes:
        if process.is_alive():
            process.kill()
            process.join()
