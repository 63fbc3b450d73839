"""What a process of a DataLoader does: it takes tasks from its socket and sends batches back, until its parent is gone."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import aten
from weft.utils.data import shared_memory

ENDED = "ended"
"""Sent in place of a batch by a worker whose iterator has no more."""
RESUME = "resume"
"""Sent to a worker in place of a task: start the dataset again."""

_PR_SET_PDEATHSIG = 1


@dataclass
class WorkerInfo:
    """Of the worker that this process is: its number, of how many, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader this process is; None in the main process."""
    return _worker_info


class ExceptionWrapper:
    """An exception on its way between processes: its class, and its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind, self.where = type(error), where
        self.text = "".join(traceback.format_exception(error))

    def reraise(self) -> None:
        """Raises the same class of exception with both tracebacks; RuntimeError if it is not made from a text."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:  # which shows its text quoted
            text = KeyErrorText(text)
        elif getattr(self.kind, "message", None):
            raise self.kind(message=text)  # type: ignore[call-arg]
        try:
            error = self.kind(text)
        except Exception:  # a class of the user that asks for other arguments: its name is in the text
            raise RuntimeError(text) from None
        raise error


class KeyErrorText(str):
    """A message that prints as it is where its repr is asked for."""

    def __repr__(self) -> str:
        return str(self)


@dataclass
class Job:
    """What a worker is told once: how to make batches, who it is, how it begins."""

    make_fetcher: Callable[[], Any]
    info: WorkerInfo
    base_seed: int
    init: Callable[[int], Any] | None
    parent: int
    parent_is_main: bool


def run(job: Job, connection: socket.socket) -> None:
    """The life of a worker."""
    global _worker_info
    _end_with_parent(job)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    aten.set_num_threads(1)
    _seed(job)
    _worker_info = job.info
    fetcher, error = None, None
    try:
        if job.init is not None:
            job.init(job.info.id)
        fetcher = job.make_fetcher()
    except Exception as e:
        error = ExceptionWrapper(e, f"in DataLoader worker process {job.info.id}, while it began")
    ended = False
    try:
        while True:
            task = shared_memory.receive(connection)
            if task == RESUME:
                fetcher, ended = job.make_fetcher(), False
                shared_memory.send(connection, (RESUME, None))
                continue
            number, keys = task
            if ended:
                continue
            result = error
            if result is None:
                try:
                    result = fetcher.fetch(keys)
                except StopIteration:
                    result, ended = ENDED, True
                except Exception as e:
                    result = ExceptionWrapper(e, _where(job, number, fetcher.at))
            _answer(job, connection, number, result)
            del result, task
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return  # the parent is gone, or has no more use for this worker


def _answer(job: Job, connection: socket.socket, number: int, result: Any) -> None:
    try:
        shared_memory.send(connection, (number, result))
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as e:
        e.add_note("the batch cannot be sent to the main process")
        shared_memory.send(connection, (number, ExceptionWrapper(e, _where(job, number, None))))


def _where(job: Job, number: int, at: Any) -> str:
    index = "" if at is None else f", index {at!r}"
    return f"in DataLoader worker process {job.info.id} (batch {number}{index})"


def _seed(job: Job) -> None:
    random.seed(job.info.seed)
    aten.manual_seed(job.info.seed)
    words = np.random.SeedSequence([job.base_seed & (2**64 - 1), job.info.id]).generate_state(4)
    np.random.seed(words)


def _end_with_parent(job: Job) -> None:
    """Whatever this process is busy with, it does not outlive its parent."""
    if job.parent_is_main:  # the signal comes when the thread that forked ends; another thread may end before its process
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == job.parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="weft-parent-watch").start()
