"""Where a tensor's memory is: `device("cpu")`, `device("cuda", 1)`, `device("meta")`."""

from aten._native import Device as device

cpu = device("cpu")
meta = device("meta")

__all__ = ["cpu", "device", "meta"]
