"""Timer: how long a statement takes, measured as often as it needs to be."""

from weft.utils.benchmark.measurement import Measurement
from weft.utils.benchmark.timer import Timer, timer

__all__ = ["Measurement", "Timer", "timer"]
