"""weft.fft: the ops of aten whose names start with `fft_`."""

from weft.op_namespace import functions

__getattr__, __dir__, __all__ = functions(__name__, "fft_")
