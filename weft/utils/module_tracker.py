"""Which modules a program is in, forwards and backwards."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from aten.autograd.graph import register_multi_grad_hook
from weft.nn.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from weft.utils import _pytree as pytree

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Within `with ModuleTracker() as tracker:` `tracker.parents` holds the names of the modules that run ("Global" for all).

    Names go from the outermost module: "Block.0.linear". `is_bw`: whether gradients are being computed.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: dict[int, str] = {}
        self._known: list[Module] = []  # so that no other object gets the number of one
        self._hooks: list[Any] = []
        self.is_bw = False

    def _name(self, module: Module) -> str:
        if id(module) not in self._names:
            for name, below in module.named_modules():
                self._names[id(below)] = f"{type(module).__name__}.{name}" if name else type(module).__name__
            self._known.append(module)
        return self._names[id(module)]

    def _enter(self, name: str, backward: bool) -> None:
        if backward and not self.is_bw:
            self.parents, self.is_bw = {"Global"}, True
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        self.parents.discard(name)

    def _before(self, module: Module, inputs: Any) -> None:
        name, self.is_bw = self._name(module), False
        self._enter(name, False)
        self._watch(inputs, lambda grads: self._leave(name))

    def _after(self, module: Module, inputs: Any, outputs: Any) -> None:
        name = self._name(module)
        self._leave(name)
        self._watch(outputs, lambda grads: self._enter(name, True))

    def _watch(self, values: Any, hook: Any) -> None:
        tensors = [t for t in pytree.tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, hook, mode="all" if len(tensors) == 1 else "any"))

    def __enter__(self) -> ModuleTracker:
        self._hooks = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *exc: Any) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
