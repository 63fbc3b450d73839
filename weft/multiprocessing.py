"""The standard library's `multiprocessing` under PyTorch's name, and `spawn`: one function in several processes.

Tensors go between processes by value, as everything that is pickled does.
"""

from __future__ import annotations

import multiprocessing as _standard
import multiprocessing.connection as _connection
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

_STRATEGIES = frozenset({"file_descriptor", "file_system"})
_strategy = "file_descriptor"


class ProcessException(Exception):
    """A process that `spawn` started did not end well."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessRaisedException(ProcessException):
    """The function raised; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """The process ended with an exit code or by a signal."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The name that was set last; tensors go by value with each."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Remembers the name. Raises AssertionError for one that PyTorch has not."""
    global _strategy
    assert new_strategy in _STRATEGIES
    _strategy = new_strategy


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], failed: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        failed.put(traceback.format_exc())
        failed.close()
        failed.join_thread()
        sys.exit(1)


class ProcessContext:
    """The processes of one `spawn`."""

    def __init__(self, processes: list[Any], failures: list[Any]) -> None:
        self.processes, self._failures = processes, failures
        self._open = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Of each process, in order."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until one process has ended; True when all have. The first failure ends the others, and is raised."""
        if not self._open:
            return True
        broken = None
        for sentinel in _connection.wait(list(self._open), timeout):
            index = self._open.pop(sentinel)  # type: ignore[arg-type]
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                broken = index
                break
        if broken is None:
            return not self._open
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        raise self._failure(broken)

    def _failure(self, index: int) -> ProcessException:
        process, failed = self.processes[index], self._failures[index]
        if not failed.empty():
            text = f"\n\n-- Process {index} terminated with the following error:\n{failed.get()}"
            return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)
        return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """fn(index, *args) in each of `nprocs` processes. Returns when all are done, or the context if not `join`.

    Raises ProcessRaisedException or ProcessExitedException for the first that fails.
    """
    context: Any = _standard.get_context(start_method)
    processes, failures = [], []
    for index in range(nprocs):
        failed = context.Queue()
        process = context.Process(target=_run, args=(fn, index, args, failed), daemon=daemon)
        process.start()
        processes.append(process)
        failures.append(failed)
    made = ProcessContext(processes, failures)
    if not join:
        return made
    while not made.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """start_processes, in new interpreters."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
