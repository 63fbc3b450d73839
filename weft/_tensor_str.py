"""How tensors print, under the name that PyTorch has for the file."""

from aten.printing import set_printoptions

__all__ = ["set_printoptions"]
