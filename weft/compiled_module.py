"""What `weft.compile(module)` returns."""

from __future__ import annotations

import copy
import types
from typing import Any

from weft.nn.module import Module


def own_function(function: types.FunctionType) -> types.FunctionType:
    """The function with a code object of its own: what is compiled for one module is not looked up for another."""
    made = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made


class OptimizedModule(Module):
    """A Module whose calls are compiled. Everything else is the original's, which is `_orig_mod`."""

    _orig_mod: Any

    def __init__(self, module: Module, config: Any):
        from dynamo.eval_frame import optimize

        super().__init__()
        self._orig_mod = module
        put = object.__setattr__
        put(self, "_config", config)
        del self.__dict__["training"]  # the original's is meant
        forward = type(module).forward
        plain = "forward" not in module.__dict__ and isinstance(forward, types.FunctionType)
        put(self, "_forward", optimize(own_function(forward), config) if plain else None)
        put(self, "_call", optimize(own_function(type(module).__call__), config))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = self._target
        forward = self._forward
        if forward is not None and not (
            module._forward_pre_hooks or module._forward_hooks or module._backward_hooks or module._backward_pre_hooks
        ):
            return forward(module, *args, **kwargs) if kwargs else forward(module, *args)
        return self._call(module, *args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self.__dict__["_modules"]["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
            if name == "_orig_mod":
                object.__setattr__(self, "_target", value)  # the same, found without __getattr__
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __deepcopy__(self, memo: dict) -> OptimizedModule:
        return OptimizedModule(copy.deepcopy(self._orig_mod, memo), self.__dict__["_config"])

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getitem__(self, key: Any) -> Any:
        return self._orig_mod[key]

    def __iter__(self) -> Any:
        return iter(self._orig_mod)

    def __contains__(self, key: Any) -> bool:
        return key in self._orig_mod

    def train(self, mode: bool = True) -> OptimizedModule:
        self._orig_mod.train(mode)
        return self

    def __repr__(self) -> str:
        return f"OptimizedModule({self._orig_mod!r})"
