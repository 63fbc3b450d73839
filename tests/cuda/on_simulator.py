"""weft with two simulated CUDA devices, for programs that take the name of a module:

    run_opinfo.py --target tests.cuda.on_simulator --device cuda
"""

from __future__ import annotations

import contextlib
from typing import Any

import weft
from tests.cuda.compiled import tokens
from tests.cuda.sim import simulator

_sim = simulator()
_serving = contextlib.ExitStack()
_serving.enter_context(tokens.serving(_sim))
weft.cuda.init()


def __getattr__(name: str) -> Any:
    return getattr(weft, name)
