"""What a profile holds, under the name that PyTorch has for the file."""

from aten.autograd.profiler import EventList, FunctionEvent

__all__ = ["EventList", "FunctionEvent"]
