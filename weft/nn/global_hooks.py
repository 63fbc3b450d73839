"""Hooks for every module, which run before those of the module itself."""

from __future__ import annotations

from collections.abc import Callable

from weft.nn.hooks import RemovableHandle, every, register

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """hook(module, name, buffer) when a buffer is registered; what it returns, if anything, is filed instead."""
    return register(every.buffers, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """hook(module, name, submodule) when a module is registered; what it returns, if anything, is filed instead."""
    return register(every.modules, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """hook(module, name, parameter) when a parameter is registered; what it returns, if anything, is filed instead."""
    return register(every.parameters, hook)


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """hook(module, args) before each call of `forward`; may return other args."""
    return register(every.forward_pre, hook)


def register_module_forward_hook(hook: Callable, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """hook(module, args, output), or (module, args, kwargs, output), after each call of `forward`; may return another output.

    always_call: also where `forward` raises.
    """
    marks = (*((every.with_kwargs,) if with_kwargs else ()), *((every.always_called,) if always_call else ()))
    return register(every.forward, hook, marks=marks)


_BOTH = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """The old kind of backward hook, for all modules. Raises RuntimeError beside full ones."""
    if every.backward_is_full is True:
        raise RuntimeError(_BOTH)
    every.backward_is_full = False
    return register(every.backward, hook)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """hook(module, grad_output) before gradients of the inputs are computed; may return other gradients."""
    return register(every.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """hook(module, grad_input, grad_output) when gradients of the inputs are there. Raises RuntimeError beside old ones."""
    if every.backward_is_full is False:
        raise RuntimeError(_BOTH)
    every.backward_is_full = True
    return register(every.backward, hook)
