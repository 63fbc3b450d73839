"""Where PyTorch code expects Parameter and Buffer."""

from aten import Parameter

__all__ = ["Parameter"]
