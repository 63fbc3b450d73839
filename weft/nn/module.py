"""Module: a tree of parameters, buffers and sub-modules with a `forward`."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

from aten import Parameter, Tensor
from aten.compiling import passes_on
from weft.nn.backward_hooks import FullBackwardHooks, watch_old
from weft.nn.conversion import Converts
from weft.nn.global_hooks import (  # noqa: F401  (where PyTorch has them)
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from weft.nn.hooks import RemovableHandle, every, register, registered
from weft.nn.parameter import Buffer
from weft.nn.state import EXTRA_STATE, HoldsState, _IncompatibleKeys  # noqa: F401
from weft.type_names import typename

_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE
_global_forward_pre_hooks, _global_forward_hooks = every.forward_pre, every.forward  # the names that PyTorch's module has
_global_backward_pre_hooks, _global_backward_hooks = every.backward_pre, every.backward
_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called = every.with_kwargs, every.always_called
_OF_SCRIPTS = ("save", "save_to_buffer", "graph", "inlined_graph", "code")  # what PyTorch's script() and trace() give modules
_STORES = ("_parameters", "_buffers", "_modules")
_HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Module(HoldsState, Converts):
    """Base of everything with parameters. Assigning a Parameter, Module or registered buffer to an attribute files it."""

    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    training: bool
    _forward_hooks: OrderedDict
    _forward_pre_hooks: OrderedDict
    _backward_hooks: OrderedDict
    _backward_pre_hooks: OrderedDict
    _forward_hooks_with_kwargs: OrderedDict
    _forward_hooks_always_called: OrderedDict
    _forward_pre_hooks_with_kwargs: OrderedDict
    _is_full_backward_hook: bool | None = None
    _compiled_call_impl: Callable | None = None  # what `compile()` made of this module's calls
    call_super_init: bool = False
    dump_patches: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            unexpected = next(iter(kwargs), None)
            problem = (
                f"got an unexpected keyword argument '{unexpected}'"
                if kwargs
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {problem}")
        put = functools.partial(object.__setattr__, self)
        put("training", True)
        for store in _STORES:
            put(store, {})
        put("_non_persistent_buffers_set", set())
        for hooks in _HOOKS:
            put(hooks, OrderedDict())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; every module defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ------------------------------------------------------------------------------------------------ calling
    @passes_on
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if not (self._forward_pre_hooks or self._forward_hooks or self._backward_hooks or self._backward_pre_hooks or every.calls):
            return self.forward(*args, **kwargs)
        return self._call_impl(*args, **kwargs)

    @passes_on
    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """A call with hooks: before, `forward`, after; those for all modules first; backward hooks around all of it."""
        result: Any = None
        called: set[int] = set()  # of the hooks that are always called
        try:
            args, kwargs = self._before_forward(args, kwargs)
            full, old = self._backward_hooks_by_kind()
            watched = None
            if full or self._backward_pre_hooks or every.backward_pre:
                pre_hooks = (*every.backward_pre.values(), *self._backward_pre_hooks.values())
                watched = FullBackwardHooks(self, full, pre_hooks)
                args = watched.inputs(args)
            result = self.forward(*args, **kwargs)
            for key, hook in tuple(every.forward.items()):
                called.add(key)
                changed = hook(self, args, kwargs, result) if key in every.with_kwargs else hook(self, args, result)
                result = result if changed is None else changed
            for key, hook in tuple(self._forward_hooks.items()):
                called.add(key)
                with_kwargs = key in self._forward_hooks_with_kwargs
                changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                result = result if changed is None else changed
            if watched is not None:
                result = watched.outputs(result)
            if old:
                watch_old(self, old, args, result)
            return result
        except Exception:
            self._call_the_always_called(called, args, kwargs, result)
            raise

    def _before_forward(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """The arguments as the hooks before `forward` leave them."""
        for hook in tuple(every.forward_pre.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        for key, hook in tuple(self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _backward_hooks_by_kind(self) -> tuple[list[Callable], list[Callable]]:
        """(full, old) backward hooks."""
        full: list[Callable] = []
        old: list[Callable] = []
        if every.backward:
            (full if every.backward_is_full is True else old).extend(every.backward.values())
        if self._backward_hooks:
            (full if self._is_full_backward_hook is True else old).extend(self._backward_hooks.values())
        return full, old

    def _call_the_always_called(self, called: set[int], args: tuple, kwargs: dict, result: Any) -> None:
        """After an error: hooks registered with `always_call` that did not run; what they raise is a warning."""
        kinds = (
            (every.forward, every.always_called, every.with_kwargs, "global module forward hook"),
            (self._forward_hooks, self._forward_hooks_always_called, self._forward_hooks_with_kwargs, "module forward hook"),
        )
        for hooks, always, with_kwargs, name in kinds:
            for key, hook in tuple(hooks.items()):
                if key not in always or key in called:
                    continue
                try:
                    changed = hook(self, args, kwargs, result) if key in with_kwargs else hook(self, args, result)
                    result = result if changed is None else changed
                except Exception as error:
                    warnings.warn(
                        f"{name} with ``always_call=True`` raised an exception that was silenced as another error was raised in "
                        f"forward: {error}",
                        stacklevel=4,
                    )

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the calls of this module in place; the arguments are those of `weft.compile`."""
        import weft  # the compiler, which knows modules, is above this file

        self.__dict__["_compiled_call_impl"] = weft.compile(self, *args, **kwargs)

    # ---------------------------------------------------------------------------------------------- attributes
    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for store in _STORES:
            found = own.get(store)
            if found is not None and name in found:
                return found[name]
        scripts = ": script() and trace() give the module itself; keep its state_dict by weft.save" if name in _OF_SCRIPTS else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{scripts}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        for store, kind, called, expected, several in _KINDS:
            if isinstance(value, kind):
                if store not in own:
                    raise AttributeError(f"cannot assign {several} before Module.__init__() call")
                own.pop(name, None)
                for other in _STORES:
                    if other != store:
                        own[other].pop(name, None)
                self._non_persistent_buffers_set.discard(name)
                self._file(store, name, value)
                return
            if name in own.get(store, ()):
                if value is not None and not isinstance(value, Tensor if store == "_buffers" else kind):
                    raise TypeError(f"cannot assign '{typename(value)}' as {called} '{name}' ({expected} or None expected)")
                self._file(store, name, value)
                return
        object.__setattr__(self, name, value)

    def _file(self, store: str, name: str, value: Any) -> None:
        if store == "_parameters":
            self.register_parameter(name, value)
        elif store == "_modules":
            self._modules[name] = registered(every.modules, self, name, value) if every.modules else value
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        else:
            self._buffers[name] = registered(every.buffers, self, name, value) if every.buffers else value

    def __delattr__(self, name: str) -> None:
        for store in _STORES:
            if name in self.__dict__.get(store, ()):
                del self.__dict__[store][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = set(dir(type(self))) | set(self.__dict__)
        for store in _STORES:
            names |= set(self.__dict__[store])
        return sorted(n for n in names if not n[:1].isdigit())

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for hooks in _HOOKS:
            self.__dict__.setdefault(hooks, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    # -------------------------------------------------------------------------------------------- registration
    def _check_name(self, kind: str, name: str, store: str) -> None:
        if store not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[store]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Files a parameter; None keeps the name. Raises KeyError for a name that is taken or has a ".", TypeError, ValueError."""
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = registered(every.parameters, self, name, param) if every.parameters else param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Files a tensor that is state but no parameter; with persistent=False it is left out of the state dict."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = registered(every.buffers, self, name, tensor) if every.buffers else tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Files a sub-module; None keeps the name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = registered(every.modules, self, name, module) if every.modules else module

    def register_module(self, name: str, module: Module | None) -> None:
        """add_module."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """The module under a dotted name; "" is this one. Raises AttributeError."""
        module: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module under a dotted name; with `strict` only where one is already. Raises AttributeError, ValueError."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter under a dotted name. Raises AttributeError."""
        owner, name = self._owner(target)
        found = getattr(owner, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer under a dotted name. Raises AttributeError."""
        owner, name = self._owner(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(owner, name)

    def _owner(self, target: str) -> tuple[Module, str]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name

    # ------------------------------------------------------------------------------------------------ walking
    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of this one ("") and all below, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below, each once."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of those directly below, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly below, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, get_members_fn: Callable, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """(dotted name, value) of what get_members_fn(module) says of each module."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of this module and, with `recurse`, all below."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and, with `recurse`, all below, each once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) of this module and, with `recurse`, all below."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and, with `recurse`, all below, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """fn(module) for all modules below, then this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ------------------------------------------------------------------------------------------------ training
    def train(self, mode: bool = True) -> Self:
        """Sets `training` here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether gradients are computed for the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or makes them zero."""
        for parameter in self.parameters():
            if set_to_none:  # whatever it is: what is compiled serves the first step, too
                parameter.grad = None
            elif parameter.grad is not None:
                if parameter.grad.grad_fn is not None:
                    parameter.grad.detach_()
                else:
                    parameter.grad.requires_grad_(False)
                parameter.grad.zero_()

    # --------------------------------------------------------------------------------------------------- hooks
    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """hook(module, args), or (module, args, kwargs), before `forward`; may return other arguments."""
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return register(self._forward_pre_hooks, hook, prepend, marks)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """hook(module, args, output), or (module, args, kwargs, output), after `forward`; may return another output."""
        marks = (
            *((self._forward_hooks_with_kwargs,) if with_kwargs else ()),
            *((self._forward_hooks_always_called,) if always_call else ()),
        )
        return register(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_input, grad_output) when gradients of the inputs are there; may return others for them."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(_BOTH)
        self._is_full_backward_hook = True
        return register(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_output) before gradients of the inputs are computed; may return others."""
        return register(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """The old kind: hook(module, grad_input, grad_output) of the last op of `forward` alone."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(_BOTH)
        self._is_full_backward_hook = False
        return register(self._backward_hooks, hook)

    def _replicate_for_data_parallel(self) -> Any:
        """A copy with stores of its own and no parameters, whose tensors a replica of DataParallel puts in as attributes."""
        replica: Any = type(self).__new__(type(self))
        replica.__dict__.update(self.__dict__)
        object.__setattr__(replica, "_parameters", {})
        object.__setattr__(replica, "_buffers", dict(self._buffers))
        object.__setattr__(replica, "_modules", dict(self._modules))
        replica._is_replica = True
        return replica

    # ------------------------------------------------------------------------------------------------- printing
    def extra_repr(self) -> str:
        """What printing shows beside the sub-modules; a line or several."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        below = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not own and not below:
            return f"{self._get_name()}()"
        if len(own) == 1 and not below:
            return f"{self._get_name()}({own[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(own + below) + "\n)"


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines after the first are indented, as `__repr__` of modules that write their own does."""
    return s_.replace("\n", "\n" + numSpaces * " ")


_BOTH = "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
# What a module holds, in the order in which an assignment looks: where it is filed, its type, how messages call it and them.
_KINDS = (
    ("_parameters", Parameter, "parameter", "torch.nn.Parameter", "parameters"),
    ("_modules", Module, "child module", "torch.nn.Module", "module"),
    ("_buffers", Buffer, "buffer", "torch.nn.Buffer, torch.Tensor", "buffers"),
)
