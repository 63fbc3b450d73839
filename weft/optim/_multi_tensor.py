"""The optimizers that step lists of parameters by one call each, by their names from before `foreach=True`."""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from weft import optim

__all__ = ["ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"]


def _with_foreach(cls: type) -> Any:
    return type(cls.__name__, (cls,), {"__init__": partialmethod(cls.__init__, foreach=True), "__doc__": cls.__doc__})  # type: ignore[misc]


ASGD, Adadelta, Adagrad = map(_with_foreach, (optim.ASGD, optim.Adadelta, optim.Adagrad))
Adam, AdamW, Adamax = map(_with_foreach, (optim.Adam, optim.AdamW, optim.Adamax))
NAdam, RAdam, RMSprop = map(_with_foreach, (optim.NAdam, optim.RAdam, optim.RMSprop))
Rprop, SGD = map(_with_foreach, (optim.Rprop, optim.SGD))
