"""The cases of the review by group: the files of `programs`, and the tables of `pairs`."""

from __future__ import annotations

import importlib
import os
import pathlib
import warnings

from tests.review import harness

FOLDER = pathlib.Path(__file__).parent
PROGRAMS = sorted(p.stem for p in (FOLDER / "programs").glob("*.py") if p.stem != "__init__")
PAIRS = sorted(p.stem for p in (FOLDER / "pairs").glob("*.py") if p.stem != "__init__")


def cases(group: str) -> dict:
    """Name → function of a backend that answers a Verdict, for one group."""
    if group in PROGRAMS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # programs may say what a compiler warns of
            module = importlib.import_module(f"tests.review.programs.{group}")
        return {name: lambda backend, f=f: harness.check_program(f, backend) for name, f in harness.collect(module).items()}
    if group == "selfcheck":
        return selfcheck()
    return importlib.import_module(f"tests.review.pairs.{group}").cases()


def selfcheck() -> dict:
    """Cases that try the runner itself."""
    verdict = lambda same: lambda backend: harness.Verdict(same, [1], [1 if same else 2], [], {})
    return {"fine": verdict(True), "dies": lambda backend: os.abort(), "fine too": verdict(True), "differs": verdict(False)}
