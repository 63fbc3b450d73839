"""Every name that a corpus of model code takes from PyTorch exists (api_names.txt), but for those that are told here, and why."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

import weft

NEEDS_TENSORBOARD = importlib.util.find_spec("tensorboard") is None
ABSENT = {
    # written through the package tensorboard, an extra: test_benchmark_and_reports.py has what is said without it
    **({"torch.utils.tensorboard.SummaryWriter": "the extra is not installed"} if NEEDS_TENSORBOARD else {}),
    "torch.grad": "the corpus counts a method of a transform here; torch.autograd.grad and torch.func.grad exist",
}
PENDING = {
    "torch.Tensor.resize": "deprecated by PyTorch in favour of resize_, which exists",
}  # fmt: skip


def names() -> list[tuple[str, str]]:
    """(where, name) of the list."""
    found, where = [], ""
    for line in Path(__file__).with_name("api_names.txt").read_text().splitlines():
        if line.endswith(":"):
            where = line[:-1]
        elif not line.startswith("#"):
            found += [(where, name) for name in line.split()]
    return found


def found(path: str) -> Any:
    """What a dotted path below torch is, as attributes or as an import."""
    value: Any = weft
    parts = path.split(".")[1:]
    for i, part in enumerate(parts):
        try:
            value = getattr(value, part)
        except AttributeError:
            value = getattr(importlib.import_module("weft." + ".".join(parts[:i])), part)  # a module whose function hides it
    return value


@pytest.mark.parametrize("where", sorted({where for where, _ in names()}))
def test_names_exist(where):
    missing = []
    for name in [n for w, n in names() if w == where]:
        if where == "Module or Optimizer":
            owners = (weft.nn.Module(), weft.optim.SGD([weft.ones(1, requires_grad=True)], lr=0.1))
            there = any(hasattr(o, name) for o in owners)
        elif f"{where}.{name}" in ABSENT or f"{where}.{name}" in PENDING:
            continue
        else:
            try:
                found(f"{where}.{name}")
                there = True
            except (AttributeError, ImportError):
                there = False
        if not there:
            missing.append(name)
    assert missing == []


def test_what_is_absent_is_on_the_list():
    listed = {f"{where}.{name}" for where, name in names()}
    assert ABSENT.keys() | PENDING.keys() <= listed
