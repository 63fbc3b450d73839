"""Optimizer: parameter groups, state per parameter, hooks, and the part of a step that all optimizers share.

An optimizer of weft says what its state is (`_init_state`) and what one step of one parameter does (`_update`). The base
finds the parameters that have gradients and applies what is common: hooks, the closure, grad mode, maximize, weight decay,
complex parameters as pairs of real numbers, the count of steps. A user's own optimizer overrides `step`.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import aten
import weft
from aten import Tensor
from aten.compiling import is_compiling
from weft.nn.hooks import RemovableHandle
from weft.optim.settings import _Required as _RequiredParameter  # noqa: F401
from weft.optim.settings import needs_capture_device, required
from weft.optim.subclassing import (  # noqa: F401
    Args,
    DeviceDict,
    DeviceDtypeDict,
    GlobalOptimizerPostHook,
    GlobalOptimizerPreHook,
    Kwargs,
    ParamsT,
    StateDict,
    _capturable_doc,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _differentiable_doc,
    _disable_dynamo_if_unsupported,
    _foreach_doc,
    _fused_doc,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _maximize_doc,
    _params_doc,
    _stack_if_compiling,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
)
from weft.utils._foreach_utils import (  # noqa: F401
    Indices,
    TensorListList,
    _foreach_supported_types,
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
    _group_tensors_by_device_and_dtype,
)

_global_step_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_step_post_hooks: OrderedDict[int, Callable] = OrderedDict()

_global_optimizer_pre_hooks, _global_optimizer_post_hooks = _global_step_pre_hooks, _global_step_post_hooks

_SAVED = sys.maxsize  # where rates come from: a state dict of the optimizer, or the schedule of this number

_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def _register(hooks: OrderedDict, hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` before every step of every optimizer; may return (args, kwargs) to use instead."""
    return _register(_global_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return _register(_global_step_post_hooks, hook)


def _hooked(step: Callable, name: str) -> Callable:
    """`step` of the class `name` between the hooks. `_opt_called` tells schedulers that there was a step."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        for hook in chain(_global_step_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            result = hook(self, (self, *args), kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                (self, *args), kwargs = result  # type: ignore[assignment]
        out = step(self, *args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_step_post_hooks.values()):
            hook(self, (self, *args), kwargs)
        return out

    # a code object of its own for each class: what is compiled of one does not count to the limit of another
    hooked.__code__ = hooked.__code__.replace(co_name="step", co_qualname=f"{name}.step")  # type: ignore[attr-defined]
    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """Base of optimizers. `params`: tensors, (name, tensor) pairs, or dicts {'params': …, setting: …} (groups)."""

    _optimizer_step_pre_hooks: OrderedDict[int, Callable]
    _optimizer_step_post_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable]

    counts = True
    """Whether the state of a parameter has a `step`, the number of its steps (0-d)."""
    sparse = False
    """Whether `_update` takes sparse gradients."""
    _opt_called = False
    _rates_from = -1
    decays = "gradient"
    """What weight decay acts on where a group does not say (`decoupled_weight_decay`): "gradient", "parameter", or
    "none" of them here: `_update` knows."""

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        self._hook_step()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got " + type(params).__name__
            )
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    @classmethod
    def _hook_step(cls) -> None:
        """Puts the hooks around the class's `step`: at its first object, as it may come from a user's class."""
        if not getattr(cls.step, "hooked", False):
            cls.step = _hooked(cls.step, cls.__qualname__)  # type: ignore[method-assign]

    def _patch_step_function(self) -> None:
        """The hooks for a class whose objects are made without this class's constructor."""
        self._hook_step()

    @staticmethod
    def profile_hook_step(func: Callable) -> Callable:
        """A `step` between the hooks, for classes that wrap their own."""
        return _hooked(func, func.__qualname__.rpartition(".")[0])

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: TensorListList, with_indices: bool = False) -> dict[Any, Any]:
        """The lists by device and dtype; in compiled code, which sorts them itself, all as one group (None, None)."""
        if is_compiling():
            return {(None, None): (tensorlistlist, list(range(len(tensorlistlist[0]))))}
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def _cuda_graph_capture_health_check(self) -> None:
        """Raises RuntimeError where a step is recorded into a graph of a device though its groups are not all capturable."""
        on_device = any(p.is_cuda for group in self.param_groups for p in group["params"])
        if on_device and not is_compiling() and weft.cuda.is_current_stream_capturing():
            if not all(group.get("capturable") for group in self.param_groups):
                raise RuntimeError(
                    f"Attempting CUDA graph capture of step() for an instance of {type(self).__name__} but param_groups' "
                    "capturable is False."
                )

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self._hook_step()
        for group in self.param_groups:
            for name, default in self.defaults.items():  # settings that are younger than what was saved
                if default is not required:
                    group.setdefault(name, default)
            if self.counts:
                for p in group["params"]:
                    step = self.state[p].get("step") if p in self.state else None
                    if isinstance(step, (int, float)):
                        self.state[p]["step"] = self._number(float(step))

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # -------------------------------------------------------------------------------------------------- groups
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters, with settings of their own where `param_group` has them; raises ValueError for those known."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        given = [given] if isinstance(given, Tensor) else list(given)
        params = [p[1] if isinstance(p, tuple) else p for p in given]
        names = [p[0] for p in given if isinstance(p, tuple)]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(set(params)) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    f"all optimizer param groups should be with/without names. cannot add param group {kind} to the optimizer"
                )
        known = {p for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:  # whatever it is: what is compiled serves the first step, too
                    p.grad = None
                    continue
                if p.grad is None:
                    continue
                if p.grad.grad_fn is not None:
                    p.grad = p.grad.detach()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    # ---------------------------------------------------------------------------------------------------- step
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step on all groups. `closure`, if given, is called first with gradients on, and its result returned."""
        if type(self) is Optimizer:
            raise NotImplementedError("an Optimizer steps as its subclass says: use SGD, Adam …")
        loss = None
        if closure is not None:
            with aten.enable_grad():
                loss = closure()
        with aten.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._step_of(p, group)
        return loss

    def _step_of(self, p: Tensor, group: dict[str, Any]) -> None:
        g = p.grad
        if is_sparse(g) and not self.sparse:
            raise RuntimeError(self._refusal_of_sparse())
        state = self.state[p] if p in self.state else {}
        if not state:
            self._check_devices(p, group)
            if self.counts:
                state["step"] = self._number(0.0)
                if group.get("capturable") or group.get("fused"):
                    state["step"] = state["step"].to(p.device)
            state.update(self._init_state(p, group))
        if group.get("differentiable", False):  # what an earlier step recorded stays as it was
            for name, value in state.items():
                if isinstance(value, Tensor) and name != "step":
                    state[name] = value.clone()
        self._advance(p, g, state, group)
        if state and p not in self.state:
            self.state[p] = state

    def _advance(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """One step of `p` and its `state` in place: what is common to all optimizers, then `_update`."""
        differentiable = group.get("differentiable", False)
        if group.get("maximize", False):
            g = -g
        if self.counts:
            if group.get("capturable", False) and not is_compiling():
                needs_capture_device(p)
            if is_compiling() and state["step"].device != p.device:  # a compiled step copies nothing between devices
                state["step"] = state["step"].to(p.device)
            state["step"].add_(1)
        decay = group.get("weight_decay", 0) if self.decays != "none" else 0
        if isinstance(decay, Tensor) or decay != 0:
            if group.get("decoupled_weight_decay", self.decays == "parameter"):
                p.mul_(1 - scalar(group["lr"]) * decay)
            else:
                if is_sparse(g):
                    raise RuntimeError("weight_decay option is not compatible with sparse gradients")
                g = g + (p.clone() if differentiable else p) * decay
        if p.is_complex():
            self._update_complex(p, g, state, group)
        else:
            self._update(p, g, state, group)

    def _update_complex(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """The step of the pairs of real numbers that p, g and the state are."""
        pairs = {k: aten.view_as_real(v) if _is_complex(v) else v for k, v in state.items()}
        p_pairs = aten.view_as_real(p)
        self._update(p_pairs, aten.view_as_real(g), pairs, group)
        p.copy_(aten.view_as_complex(p_pairs))
        for name, value in pairs.items():
            if name not in state:
                state[name] = aten.view_as_complex(value)
            elif _is_complex(state[name]):
                state[name].copy_(aten.view_as_complex(value))

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter before its first step, without `step`."""
        return {}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """One step of `p` in place by its gradient `g`, whose sign and weight decay are dealt with. All are real."""
        raise NotImplementedError(f"{type(self).__name__} does not define a step")

    def _refusal_of_sparse(self) -> str:
        return f"{type(self).__name__} does not support sparse gradients"

    def _number(self, value: float, device: Any = None) -> Tensor:
        """A number of the state as a 0-d tensor: float32, or float64 where that is the default."""
        dtype = aten.float64 if aten.get_default_dtype() is aten.float64 else aten.float32
        return aten.tensor(value, dtype=dtype, device=device)

    @staticmethod
    def _check_devices(p: Tensor, group: dict[str, Any]) -> None:
        if group.get("fused") and not p.is_floating_point():
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"['cpu', 'cuda'] but {p.dtype} and {p.device.type}"
            )

    # --------------------------------------------------------------------------------------------------- state
    def state_dict(self) -> dict[str, Any]:
        """{'state': {index: {name: value}}, 'param_groups': [{…, 'params': [index]}]}: plain data and tensors."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                index.setdefault(id(p), len(index))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [index[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {index[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes settings and state from `state_dict`; tensors are copied, floating ones in the parameter's dtype."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        place = {i: (p, a) for a, b in zip(saved, self.param_groups) for i, p in zip(a["params"], b["params"])}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in place:
                p, group = place[key]
                state[p] = _placed(p, value, group, None)
            else:
                state[key] = value
        for new, old in zip(saved, self.param_groups):
            new["params"] = old["params"]
            if "param_names" in old and "param_names" not in new:
                new["param_names"] = old["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        self._rates_from = _SAVED
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _rates_set_by(self, scheduler: Any) -> None:
        """A schedule that was just made has set the rates."""
        # (made here: optimizers that wrap another need not call `Optimizer.__init__`)
        schedules: WeakKeyDictionary[Any, int] = self.__dict__.setdefault("_schedules", WeakKeyDictionary())
        self._rates_from = schedules[scheduler] = len(schedules)

    def _takes_rates_of(self, scheduler: Any) -> bool:
        """Whether the rates are to be those of `scheduler`, just loaded.

        They are not if they were loaded with this optimizer since the schedules were made, or with one made later, which
        has the last word in a step too.
        """
        order = self.__dict__.get("_schedules", {}).get(scheduler, -1)
        if order < self._rates_from:
            return False
        self._rates_from = order
        return True

    # --------------------------------------------------------------------------------------------------- hooks
    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` before each step; may return (args, kwargs) to use instead."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` before a state dict is made."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` after one is made; may return another to hand out."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer, state_dict)` before one is loaded; may return another to load."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """`hook(optimizer)` after one is loaded."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def scalar(value: Any) -> Any:
    """A setting as a number or 0-d tensor, which does not widen what it multiplies."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() != 0 else value


def count(state: dict[str, Any], group: dict[str, Any]) -> Any:
    """How many steps `state` counts: a Python float where there is one at hand, else a 0-d float64 tensor.

    float64, as 1 - beta ** step loses four digits of float32's seven at beta 0.999.
    """
    step = state["step"]
    if group.get("capturable") or is_compiling():
        return step.to(aten.float64)
    return step.item()


def root(value: Any) -> Any:
    """The square root of a number or tensor."""
    return value.sqrt() if isinstance(value, Tensor) else value**0.5


def is_sparse(t: Tensor) -> bool:
    """Whether `t` has entries at some places only."""
    return getattr(t, "is_sparse", False)


def _is_complex(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_complex()


def _placed(p: Tensor, value: Any, group: dict[str, Any], name: Any) -> Any:
    """A copy of a state's `value` for parameter `p`: tensors on its device and of its dtype, the count of steps as it was."""
    if isinstance(value, Tensor):
        if name == "step":
            on_device = group.get("capturable") or group.get("fused")
            return value.to(dtype=aten.float32, device=p.device, copy=True) if on_device else value.clone()
        if p.is_floating_point():
            return value.to(dtype=p.dtype, device=p.device, copy=True)
        return value.to(device=p.device, copy=True)
    if isinstance(value, dict):
        return {k: _placed(p, v, group, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_placed(p, v, group, None) for v in value)
    return value
