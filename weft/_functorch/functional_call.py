"""Calls of modules with other parameters, under the name that PyTorch has for the file."""

from weft.func import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
