"""`weft.fx.GraphModule`: a graph with what it refers to, as a Module."""

from __future__ import annotations

import copy
from typing import Any

from aten import Parameter, Tensor
from aten.fx import graph_module
from aten.fx.graph import Graph
from weft.nn.module import Module


class _Kind(type(Module)):  # type: ignore[misc]
    def __instancecheck__(cls, value: Any) -> bool:
        # Graphs that the library makes for itself are no Modules, and GraphModules to those who ask.
        return type.__instancecheck__(cls, value) or cls is GraphModule and isinstance(value, graph_module.GraphModule)


class GraphModule(Module, graph_module.GraphModule, metaclass=_Kind):
    """A Module whose forward runs a graph.

    `root`, a Module or a dict by path, gives the modules and tensors that the graph's nodes name; they become its own.
    `graph` can be changed; then `recompile()`.
    """

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule", shape_env: Any = None):
        Module.__init__(self)
        if not hasattr(root, "__dict__") and not isinstance(root, dict):
            raise RuntimeError(f"Unsupported type {type(root).__name__} passed for root!")
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                self._take(root, str(node.target))
        self.training = bool(getattr(getattr(root, "module", root), "training", self.training))
        graph_module.GraphModule.__init__(self, self, graph, shape_env, class_name)

    forward = graph_module.GraphModule.forward
    __str__ = __repr__ = graph_module.GraphModule.__str__

    def _take(self, root: Any, path: str) -> None:
        """Hold what the root has at a path, in modules along the path."""
        *folders, last = parts = path.split(".")
        in_dict = isinstance(root, dict)
        value = root[path] if in_dict and path in root else _at(root[parts[0]], parts[1:]) if in_dict else _at(root, parts)
        if type(value) is graph_module.GraphModule:  # the graph of a branch, say
            value = GraphModule(value.__dict__["_root"], value.graph, value.class_name)
        owner: Module = self
        for folder in folders:
            if not hasattr(owner, folder):
                owner.add_module(folder, Module())
            owner = getattr(owner, folder)
        if getattr(owner, last, None) is value:
            return
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            owner.register_buffer(last, value)
        else:
            setattr(owner, last, value)

    def _get_name(self) -> str:
        return self.class_name

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with empty ones along it. Returns whether no other attribute is in its way."""
        *folders, last = target.split(".")
        owner: Module = self
        for folder in folders:
            if not hasattr(owner, folder):
                owner.add_module(folder, Module())
            owner = getattr(owner, folder)
            if not isinstance(owner, Module):
                return False
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a path away. Returns whether there was one."""
        path, _, last = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        return owner._modules.pop(last, None) is not None

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that no node calls or reads from, and that hold none that is."""
        used = {""}
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inside = self.get_submodule(str(node.target))
                    used.update(f"{node.target}.{name}" for name, _ in inside.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    def __getstate__(self) -> dict[str, Any]:
        return {**Module.__getstate__(self), "_generated": None, "_root": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Module.__setstate__(self, state)
        self.__dict__["_root"] = self
        self._graph.owning_module = self

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = memo[id(self)] = type(self).__new__(type(self))
        graph = Graph()
        graph.shape_env = self.shape_env
        graph.output(graph.graph_copy(self.graph, {}))
        state = {name: value for name, value in self.__getstate__().items() if name != "_graph"}
        made.__setstate__({**copy.deepcopy(state, memo), "_graph": graph})
        return made


def _at(value: Any, path: list[str]) -> Any:
    for name in path:
        value = getattr(value, name)
    return value


__all__ = ["GraphModule"]
