"""The state of a module: state_dict and load_state_dict."""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import aten
from aten import Parameter, Tensor
from weft import __future__ as switches
from weft.nn.hooks import BoundHook, RemovableHandle, register
from weft.nn.uninitialized import is_lazy
from weft.utils.swap import swap_tensors

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` did not find, and what it found no place for."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class HoldsState:
    """What a Module knows of its state."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict
    _state_dict_pre_hooks: OrderedDict
    _load_state_dict_pre_hooks: OrderedDict
    _load_state_dict_post_hooks: OrderedDict
    _version: int = 1  # of the layout of the state: `_load_from_state_dict` finds that of the checkpoint in its metadata

    # ---------------------------------------------------------------------------------------------- extra state
    def get_extra_state(self) -> Any:
        """What else belongs to the state; defined by modules that have some, together with `set_extra_state`."""
        raise RuntimeError("get_extra_state is not implemented by this module")

    def set_extra_state(self, state: Any) -> None:
        """Takes what `get_extra_state` gave."""
        raise RuntimeError("set_extra_state is not implemented by this module")

    # ------------------------------------------------------------------------------------------------- writing
    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if getattr(type(self), "get_extra_state", HoldsState.get_extra_state) is not HoldsState.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Parameters, persistent buffers and extra state by their names, which `prefix` precedes.

        They share memory with the module's; keep_vars: they are the module's, with their history. The dict has an attribute
        `_metadata`: the versions of the modules by name.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given.get("destination") if destination is None else destination
            prefix = given.get("prefix", "") if prefix == "" else prefix
            keep_vars = given.get("keep_vars", False) if keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, metadata)
            if getattr(hook, "_from_public_api", False):
                if changed is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif changed is not None:
                destination = changed
        return destination

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, prefix, keep_vars) before the state is written."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata) after it is written; changes the dict in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """As register_state_dict_post_hook, but what the hook returns, if anything, is the state dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return register(self._state_dict_hooks, hook)

    # ------------------------------------------------------------------------------------------------- reading
    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        return register(self._load_state_dict_pre_hooks, BoundHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) before reading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, incompatible_keys) after reading; changes the lists of keys in place."""
        return register(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """Reads this module's own state, without that of its children. Modules override it to read old layouts."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        own = {k: v for k, v in itertools.chain(self._parameters.items(), persistent.items()) if v is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            problem = self._load_one(name, key, current, state_dict[key], assign)
            if problem is not None:
                error_msgs.append(problem)
        extra = prefix + EXTRA_STATE
        if getattr(type(self), "set_extra_state", HoldsState.set_extra_state) is not HoldsState.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if (dot and head not in self._modules) or (not dot and head not in own):
                        unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, current: Any, value: Any, assign: bool) -> str | None:
        """Reads one tensor; returns what was wrong with it."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                f"received {type(value)}"
            )
        if not is_lazy(current):
            if len(current.shape) == 0 and len(value.shape) == 1:
                value = value[0]  # as PyTorch 0.3 wrote numbers
            if tuple(value.shape) != tuple(current.shape):
                return (
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                    f"the shape in current model is {current.shape}."
                )
        if current.is_meta and not value.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which "
                "is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding "
                "key in the module instead of copying them in place?)",
                stacklevel=2,
            )
            return None
        swap = switches.get_swap_module_params_on_conversion()
        try:
            with aten.no_grad():
                if swap:
                    self._swap_in(current, value, assign)
                elif assign:
                    if isinstance(current, Parameter):
                        if isinstance(value, Parameter):
                            value.requires_grad_(current.requires_grad)
                        else:
                            value = Parameter(value, requires_grad=current.requires_grad)
                    setattr(self, name, value)
                else:
                    current.copy_(value)
        except Exception as error:
            return (
                f'While {"swapping" if swap else "copying"} the parameter named "{key}", whose dimensions in the model are '
                f"{current.size()} and whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}."
            )
        return None

    def _swap_in(self, current: Any, value: Any, assign: bool) -> None:
        """`current` gets the contents of what `module_load` makes of `value`."""
        made = current.module_load(value, assign=assign)
        if made is value or made is current:
            raise RuntimeError(
                "module_load returned one of self or other, please .detach() the result if returning one of the inputs in "
                "module_load"
            )
        if isinstance(current, Parameter):
            if isinstance(made, Parameter):
                made.requires_grad_(current.requires_grad)
            else:
                made = Parameter(made, requires_grad=current.requires_grad)
        swap_tensors(current, made)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copies values from `state_dict`, or with `assign` takes its tensors. Returns what was missing and what was left over.

        Raises RuntimeError on mismatched sizes, and under `strict` on missing or unexpected keys; all are named.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []

        def load(module: Any, part: dict, prefix: str) -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local["assign_to_params_buffers"] = assign
            module._load_from_state_dict(part, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {k: v for k, v in part.items() if k.startswith(below)}, below)
            keys = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                assert hook(module, keys) is None, (
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                    "incompatible_keys need to be modified, it should be done inplace."
                )

        load(self, state, "")
        if strict:
            if unexpected:
                errors.insert(0, "Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in unexpected)))
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in missing)))
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors)))
        return _IncompatibleKeys(missing, unexpected)
