"""The storages of tensors: handed on, asked for their size, resized by a node of the graph."""

from __future__ import annotations

from typing import Any

from aten import _native
from aten.fx.targets import is_op, resize_storage
from dynamo import breaks, guards, outcome
from dynamo.breaks import Unsupported
from dynamo.source import Converted
from dynamo.variables.base import TrueVariable, Variable, method
from dynamo.variables.symint import symbolic


class UntypedStorageVariable(TrueVariable):
    """The storage of a tensor."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any):
        super().__init__()
        self.tensor = tensor

    def python_type(self):
        return _native.UntypedStorage

    def is_same(self, other):
        if self is other:
            return True
        raise self.unsupported("the identity")

    def getattr(self, frame, name):
        return frame.values.bound(self, name) if name in self.rules else super().getattr(frame, name)

    @method("nbytes", "size")
    def nbytes(self, frame):
        root = self.tensor.root
        resized = frame.output.storage_sizes.get(root)
        if resized is not None:
            return resized
        if root.value is not None and root.source is not None:
            found = bytes_of_storage(root.value)
            frame.output.guard(guards.Equals(Converted(root.source, bytes_of_storage), found))
            return frame.values.const(found)
        made = root.node.op == "call_function" and is_op(root.node.target) and root.node.target.kind == "core"
        if not made or not root.meta.is_contiguous():
            raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"the size of the storage of {root.describe()}")
        return symbolic(frame, root.meta.numel() * root.meta.dtype.itemsize)

    def length(self, frame):
        return self.nbytes(frame)

    @method("resize_")
    def resize(self, frame, size):
        if frame.world.lacks(size.python_type(), "__index__"):
            raise self.unsupported("resize_() to what is no number")
        output, root = frame.output, self.tensor.root
        output.side_effects.check(root, root.source is not None)
        output.graph.line = output.user_line()
        output.recorded = True
        output.graph.call_function(resize_storage, (root.node, size.as_arg()), {}, val=None)
        output.storage_sizes[root] = size
        if root.source is not None:
            output.mutated.add(root)
        return self

    def recipe(self, emit):
        tensor = emit.value(self.tensor)
        return emit.shared(self, lambda: outcome.Call(outcome.GetAttr(tensor, "untyped_storage")))


def bytes_of_storage(tensor: Any) -> int:
    return tensor.untyped_storage().nbytes()


def of_tensor(tensor: Variable) -> UntypedStorageVariable:
    return UntypedStorageVariable(tensor)
