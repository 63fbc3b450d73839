"""What the values of a graph look like, found by running it on tensors without data."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

from aten import pytree
from aten._native import Tensor
from aten.fx.graph_module import GraphModule
from aten.fx.interpreter import Interpreter
from aten.fx.node import Node
from aten.meta import Meta


class FakeTensorProp(Interpreter):
    """Runs a graph on fake tensors and writes into each node's meta["val"] what its value looks like.

    mode: the FakeTensorMode to run under; a new one without it. What the module holds is made fake too.
    """

    def __init__(self, module: GraphModule, mode: Any = None):
        super().__init__(module)
        if mode is None:
            mode = import_module("weft._subclasses.fake_tensor").FakeTensorMode()  # of the package above
        self._mode = mode

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        leaves = pytree.leaves(result)
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            n.meta["val"] = pytree.map_leaves(lambda x: self._meta(x) if isinstance(x, Tensor) else x, result)
        n.meta["type"] = type(result)
        return result

    def _meta(self, tensor: Tensor) -> Meta:
        found = Meta.of(tensor)
        return Meta(found.dtype, tensor.device, found.sizes, found.strides, found.offset, found.requires_grad)

    def fetch_attr(self, target: str) -> Any:
        value = super().fetch_attr(target)
        return self._mode.from_tensor(value) if isinstance(value, Tensor) else value

    def call_module(self, target: Any, args: tuple, kwargs: dict) -> Any:
        module = super().fetch_attr(target)
        with contextlib.ExitStack() as undo:
            for owner in module.modules():
                for store in (owner._parameters, owner._buffers):
                    before = dict(store)
                    undo.callback(store.update, before)
                    store.update({name: t if t is None else self._mode.from_tensor(t) for name, t in before.items()})
            return module(*args, **kwargs)

    def propagate(self, *args: Any) -> Any:
        """What the graph gives for these inputs, real tensors or fake ones, as fake tensors."""
        return self.propagate_dont_convert_inputs(*[self._mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args])

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """The same for inputs that are fake already."""
        with self._mode:
            return super().run(*args)


__all__ = ["FakeTensorProp"]
