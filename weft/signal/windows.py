"""weft.signal.windows: the ops of aten whose names start with `signal_`."""

from weft.op_namespace import functions

__getattr__, __dir__, __all__ = functions(__name__, "signal_")
