"""Module: a tree of parameters, buffers and sub-modules with a `forward`."""

from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn.hooks import RemovableHandle, run_with_backward_hooks

IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])
_STORES = ("_parameters", "_buffers", "_modules")
_HOOKS = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Module:
    """Base of everything with parameters. Assigning a Parameter, Module or registered buffer to an attribute files it."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _version = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            unexpected = next(iter(kwargs), None)
            problem = f"an unexpected keyword argument '{unexpected}'" if kwargs else "positional arguments"
            raise TypeError(f"{type(self).__name__}.__init__() got {problem}")
        put = functools.partial(object.__setattr__, self)
        put("training", True)
        for store in _STORES:
            put(store, {})
        put("_non_persistent_buffers_set", set())
        for hooks in _HOOKS:
            put(hooks, OrderedDict())
        put("_hooks_with_kwargs", set())
        put("_hooks_always", set())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ------------------------------------------------------------------------------------------------ calling
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (self._forward_pre_hooks or self._forward_hooks or self._backward_hooks or self._backward_pre_hooks):
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_with_hooks(self, args: tuple, kwargs: dict) -> Any:
        for key, hook in tuple(self._forward_pre_hooks.items()):
            if key in self._hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}"
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        try:
            if self._backward_hooks or self._backward_pre_hooks:
                result = run_with_backward_hooks(self, args, kwargs)
            else:
                result = self.forward(*args, **kwargs)
        except BaseException:
            for key, hook in tuple(self._forward_hooks.items()):
                if key in self._hooks_always:
                    self._call_forward_hook(key, hook, args, kwargs, None)
            raise
        for key, hook in tuple(self._forward_hooks.items()):
            changed = self._call_forward_hook(key, hook, args, kwargs, result)
            if changed is not None:
                result = changed
        return result

    def _call_forward_hook(self, key: int, hook: Callable, args: tuple, kwargs: dict, result: Any) -> Any:
        if key in self._hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    # ---------------------------------------------------------------------------------------------- attributes
    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for store in _STORES:
            found = own.get(store)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        for store, kind, called, expected, several in _KINDS:
            if isinstance(value, kind) and store != "_buffers":  # a buffer is registered; any other tensor is a plain attribute
                if store not in own:
                    raise AttributeError(f"cannot assign {several} before Module.__init__() call")
                own.pop(name, None)
                for other in _STORES:
                    if other != store:
                        own[other].pop(name, None)
                self._non_persistent_buffers_set.discard(name)
                if store == "_parameters":
                    self.register_parameter(name, value)
                else:
                    own[store][name] = value
                return
            if name in own.get(store, ()):
                if value is not None and not isinstance(value, kind):
                    raise TypeError(f"cannot assign '{type(value).__name__}' as {called} '{name}' ({expected} or None expected)")
                own[store][name] = value
                return
        object.__setattr__(self, name, value)

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

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)

    # -------------------------------------------------------------------------------------------- registration
    def _check_name(self, kind: str, name: str, store: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: "{name}"')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[store]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (weft.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                "To express one as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (weft Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = module

    register_module = add_module

    def get_submodule(self, target: str) -> Module:
        module: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def get_parameter(self, target: str) -> Parameter:
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        return self._get_member(target, "_buffers", "a buffer")

    def _get_member(self, target: str, store: str, called: str) -> Any:
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path).__dict__[store].get(name)
        if found is None:
            raise AttributeError(f"`{name}` is not {called} of `{path or type(self).__name__}`")
        return found

    # ------------------------------------------------------------------------------------------------ walking
    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
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
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, store: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in module.__dict__[store].items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---------------------------------------------------------------------------------------------- transforming
    def apply(self, fn: Callable[[Module], None]) -> Module:
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        """Replaces the data of every parameter (in place, so optimizers keep them), its gradient, and every buffer."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is not None:
                with aten.no_grad():
                    parameter.data = fn(parameter.data)
                    if parameter.grad is not None:
                        parameter.grad = fn(parameter.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """to(device), to(dtype), to(device, dtype), to(tensor): floating dtypes only; integer tensors change device only."""
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("non_blocking", None)
        if kwargs:
            raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
        for value in args:
            if isinstance(value, aten.DType):
                dtype = value
            elif isinstance(value, Tensor):
                device, dtype = value.device, value.dtype
            elif value is not None and not isinstance(value, bool):
                device = value
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if dtype is not None and (t.dtype.is_floating_point or t.dtype.is_complex) else t.dtype
            return t.to(device=device, dtype=wanted) if device is not None else t.to(dtype=wanted)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Module:
        return self._apply(lambda t: t.to(dtype=dst_type))

    def float(self) -> Module:
        return self._cast_floating(aten.float32)

    def double(self) -> Module:
        return self._cast_floating(aten.float64)

    def half(self) -> Module:
        return self._cast_floating(aten.float16)

    def bfloat16(self) -> Module:
        return self._cast_floating(aten.bfloat16)

    def _cast_floating(self, dtype: Any) -> Module:
        return self._apply(lambda t: t.to(dtype=dtype) if t.dtype.is_floating_point else t)

    def cpu(self) -> Module:
        return self._apply(lambda t: t.to(device="cpu"))

    def cuda(self, device: Any = None) -> Module:
        return self._apply(lambda t: t.to(device="cuda" if device is None else device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Module:
        return self._apply(lambda t: aten.empty_like(t, device=device), recurse)

    def train(self, mode: bool = True) -> Module:
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    parameter.grad = parameter.grad.detach().zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles `forward` of this module in place; the arguments are those of `weft.compile`."""
        import weft

        self.__dict__["forward"] = weft.compile(self.forward, *args, **kwargs)

    # --------------------------------------------------------------------------------------------------- state
    def get_extra_state(self) -> Any:
        raise RuntimeError("get_extra_state is not implemented by this module")

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError("set_extra_state is not implemented by this module")

    def _has_extra_state(self) -> bool:
        return type(self).get_extra_state is not Module.get_extra_state

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if self._has_extra_state():
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def state_dict(
        self, *, destination: dict | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        if destination is None:
            destination = OrderedDict()
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, {})
            if changed is not None:
                destination = changed
        return destination

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
        assign: bool = False,
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = dict(self._parameters)
        own.update((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set)
        for name, current in own.items():
            if current is None:
                continue
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            value = state_dict[key]
            if not isinstance(value, Tensor):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected weft.Tensor from checkpoint but received {type(value)}'
                )
                continue
            if tuple(value.shape) != tuple(current.shape):
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                    f"the shape in current model is {current.shape}."
                )
                continue
            with aten.no_grad():
                if not assign:
                    current.copy_(value)
                elif name in self._parameters:
                    self._parameters[name] = (
                        value if isinstance(value, Parameter) else Parameter(value, current.requires_grad)
                    )
                else:
                    self._buffers[name] = value
        extra = prefix + "_extra_state"
        if self._has_extra_state():
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if (dot and head not in self._modules) or (not dot and head not in own):
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict: dict, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copies values from `state_dict` (or with `assign` takes its tensors). Raises RuntimeError on mismatched sizes, and under
        `strict` on missing or unexpected keys."""
        if not hasattr(state_dict, "items"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state_dict = OrderedDict(state_dict)
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []

        def load(module: Module, prefix: str) -> None:
            module._load_from_state_dict(state_dict, prefix, {}, True, missing, unexpected, errors, assign)
            for name, child in module._modules.items():
                if child is not None:
                    load(child, f"{prefix}{name}.")
            keys = IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                hook(module, keys)

        load(self, "")
        if strict:
            if unexpected:
                errors.insert(0, "Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in unexpected) + ". ")
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing) + ". ")
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return IncompatibleKeys(missing, unexpected)

    # --------------------------------------------------------------------------------------------------- hooks
    def _add_hook(
        self, hooks: OrderedDict, hook: Callable, prepend: bool = False, extra: tuple = ()
    ) -> RemovableHandle:
        handle = RemovableHandle(hooks, extra)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        for collection in extra:
            collection.add(handle.id)
        return handle

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        return self._add_hook(self._forward_pre_hooks, hook, prepend, (self._hooks_with_kwargs,) if with_kwargs else ())

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        extra = ((self._hooks_with_kwargs,) if with_kwargs else ()) + ((self._hooks_always,) if always_call else ())
        return self._add_hook(self._forward_hooks, hook, prepend, extra)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        return self._add_hook(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        return self._add_hook(self._backward_pre_hooks, hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        return self._add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        return self._add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        return self._add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        return self._add_hook(self._load_state_dict_post_hooks, hook)

    # ------------------------------------------------------------------------------------------------- printing
    def extra_repr(self) -> str:
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        head = f"{self._get_name()}("
        if not lines:
            return f"{head}{extra})" if "\n" not in extra else head + "\n  " + extra.replace("\n", "\n  ") + "\n)"
        body = (extra.split("\n") if extra else []) + lines
        return head + "\n  " + "\n  ".join(body) + "\n)"


# What a module holds, in the order in which an assignment looks: where it is filed, its type, how messages call it and them.
_KINDS = (
    ("_parameters", Parameter, "parameter", "weft.nn.Parameter", "parameters"),
    ("_modules", Module, "child module", "weft.nn.Module", "module"),
    ("_buffers", Tensor, "buffer", "weft.Tensor", "buffers"),
)
