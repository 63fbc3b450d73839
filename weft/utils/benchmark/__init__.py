"""Timer: how long a statement takes, measured as often as needed; Compare: a table of them; Fuzzer: what to measure with."""

from weft.utils.benchmark.compare import Colorize, Compare
from weft.utils.benchmark.fuzzer import FuzzedParameter, FuzzedSparseTensor, FuzzedTensor, Fuzzer, ParameterAlias
from weft.utils.benchmark.measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from weft.utils.benchmark.timer import Timer, timer

__all__ = [
    "Colorize", "Compare", "FuzzedParameter", "FuzzedSparseTensor", "FuzzedTensor", "Fuzzer", "Measurement", "ParameterAlias",
    "TaskSpec", "Timer", "ordered_unique", "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english",
]  # fmt: skip
