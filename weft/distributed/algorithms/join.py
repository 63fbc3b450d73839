"""Processes that run out of inputs before others: with one process there are no others to keep company."""

from __future__ import annotations

from typing import Any

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What is to be done while other processes still have inputs."""

    def main_hook(self) -> None:
        """For each of their steps."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Once none has."""


class Joinable:
    """What takes part in a `Join`: it says by `join_hook` what is to be done."""

    def join_hook(self, **kwargs: Any) -> JoinHook:
        raise NotImplementedError

    join_device: Any = "cpu"
    join_process_group: Any = None


class Join:
    """A block whose joinables' `post_hook`s run at its end: this process is the last."""

    def __init__(self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables] if enable else []

    def __enter__(self) -> Join:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            for hook in self._hooks:
                hook.post_hook(True)

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Says before a step that this process still has inputs: there is nobody to tell."""
