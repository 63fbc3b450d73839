"""Optimizer: parameter groups with their settings, and state per parameter."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import aten
from aten import Tensor
from weft.nn.hooks import RemovableHandle


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Base of optimizers. `params`: tensors, (name, tensor) pairs, or dicts {'params': …, setting: …} (groups)."""

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type(params)}"
            )
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._step_pre_hooks: OrderedDict = OrderedDict()
        self._step_post_hooks: OrderedDict = OrderedDict()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else list(params)
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        param_group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    if set_to_none:
                        p.grad = None
                    else:
                        p.grad = p.grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step on all groups. `closure`, if given, is called first with gradients on, and its result returned."""
        for hook in tuple(self._step_pre_hooks.values()):
            hook(self, (closure,), {})
        loss = None
        if closure is not None:
            with aten.enable_grad():
                loss = closure()
        with aten.no_grad():
            for group in self.param_groups:
                self._update(group, [p for p in group["params"] if p.grad is not None])
        for hook in tuple(self._step_post_hooks.values()):
            hook(self, (closure,), {})
        return loss

    def _update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        """Updates `params`, which all have gradients, in place; gradients are off."""
        raise NotImplementedError(f"{type(self).__name__} does not define a step")

    # --------------------------------------------------------------------------------------------------- state
    def state_dict(self) -> dict[str, Any]:
        """{'state': {index: {name: value}}, 'param_groups': [{…, 'params': [index]}]}: plain data and tensors."""
        index: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                index.setdefault(id(p), len(index))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [index[id(p)] for p in group["params"]]
            groups.append(packed)
        return {"state": {index[id(p)]: dict(s) for p, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes settings and state from `state_dict`; tensors are copied, floating ones in the parameter's dtype."""
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_index = {i: p for a, b in zip(saved, self.param_groups) for i, p in zip(a["params"], b["params"])}
        self.state = defaultdict(dict)
        for key, values in state_dict["state"].items():
            parameter = by_index[int(key)]
            self.state[parameter] = {name: self._loaded(parameter, name, value) for name, value in values.items()}
        self.param_groups = [
            {**{k: v for k, v in a.items() if k != "params"}, "params": b["params"]}
            for a, b in zip(saved, self.param_groups)
        ]

    @staticmethod
    def _loaded(parameter: Tensor, name: str, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if name == "step" or not value.dtype.is_floating_point:
            return value.clone()
        return value.to(dtype=parameter.dtype, device=parameter.device).clone()

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        handle = RemovableHandle(self._step_pre_hooks)
        self._step_pre_hooks[handle.id] = hook
        return handle

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        handle = RemovableHandle(self._step_post_hooks)
        self._step_post_hooks[handle.id] = hook
        return handle

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"


def check_range(name: str, value: Any, low: float = 0.0, high: float = float("inf")) -> None:
    """Raises ValueError unless low <= value < high (or value is infinite and high is)."""
    if not (low <= value and (value < high or value == high == float("inf"))):
        raise ValueError(f"Invalid {name}: {value}")
