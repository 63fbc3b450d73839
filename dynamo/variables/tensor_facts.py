"""What is known of a tensor while tracing without looking at its memory: sizes, dtype, device, where it begins."""

from __future__ import annotations

from typing import Any

from aten import _native
from aten.devices import CPU
from aten.meta import contiguous_strides
from aten.op import registry
from aten.scalar.unpatched import math
from dynamo import breaks, guards
from dynamo.breaks import Unsupported
from dynamo.source import Converted
from dynamo.variables.base import Variable, attribute, method
from dynamo.variables.constant import NONE, ConstantVariable, boolean
from dynamo.variables.sequence import SequenceVariable, SizeVariable, TupleVariable
from dynamo.variables.symint import symbolic


class TensorFacts(Variable):
    """The part of a TensorVariable that its Meta answers for."""

    __slots__ = ()
    meta: Any
    cls: type
    root: Any
    node: Any
    value: Any
    known: Any

    def sizes(self, frame) -> SizeVariable:
        return SizeVariable([symbolic(frame, s) for s in self.meta.sizes])

    @method("resize_")
    def resize(self, frame, *sizes, memory_format=NONE):
        """A tensor that the graph made shows from now on the first of its elements; one that grows needs memory of its own."""
        output, meta = frame.output, self.meta
        own = self.source is None and self.value is None and not self.is_of_subclass and self.root is self  # type: ignore[attr-defined]
        if not own or output.graph is not output.frame_graph or self.meta.requires_grad or not memory_format.is_same(NONE):
            raise Unsupported(breaks.MUTATED_ALIAS, "resize_ changes the layout of a tensor in place")
        given = sizes[0].unpack(frame) if len(sizes) == 1 and isinstance(sizes[0], SequenceVariable) else sizes
        wanted = [s.as_python() for s in given]
        if wanted == list(meta.sizes):
            return self
        known = all(type(n) is int and n >= 0 for n in (*wanted, *meta.sizes)) and meta.strides == contiguous_strides(meta.sizes)
        if not known or math.prod(wanted) > math.prod(meta.sizes):
            raise Unsupported(breaks.MUTATED_ALIAS, f"resize_ of sizes {list(meta.sizes)} to {wanted}")
        literal = lambda values: frame.values.literal(frame, tuple(values))
        made = output.record(frame, registry["as_strided"], [self, literal(wanted), literal(contiguous_strides(tuple(wanted)))], {})
        self.node, self.meta, self.known = made.node, made.meta, None
        return self

    @attribute("shape")
    def get_shape(self, frame):
        return self.sizes(frame)

    @attribute("dtype")
    def get_dtype(self, frame):
        return frame.values.literal(frame, self.meta.dtype)

    @attribute("device")
    def get_device_object(self, frame):
        device = self.meta.device  # (of the host there is one, whatever index it was asked by)
        return frame.values.literal(frame, CPU if device.type == "cpu" else device)

    @attribute("ndim")
    @method("dim", "ndimension")
    def dimensions(self, frame):
        return ConstantVariable(len(self.meta.sizes))

    @attribute("requires_grad")
    def needs_grad(self, frame):
        return boolean(self.requires_grad(frame.output))

    @attribute("is_cpu")
    def on_cpu(self, frame):
        return boolean(self.meta.device.type == "cpu")

    @attribute("is_cuda")
    def on_cuda(self, frame):
        return boolean(self.meta.device.type == "cuda")

    @attribute("is_meta")
    def on_meta(self, frame):
        return boolean(self.meta.device.type == "meta")

    @attribute("itemsize")
    @method("element_size")
    def bytes_of_element(self, frame):
        return ConstantVariable(self.meta.dtype.itemsize)

    @attribute("nbytes")
    def bytes_of_all(self, frame):
        return symbolic(frame, self.meta.numel() * self.meta.dtype.itemsize)

    @attribute("__class__")
    def get_class(self, frame):
        return frame.world.known(self.cls)

    @attribute("__array_priority__")
    def priority(self, frame):
        return ConstantVariable(1000)

    @method("size")
    def size(self, frame, dim=NONE):
        sizes = self.sizes(frame)
        return sizes if dim.is_same(NONE) else self.along(frame, sizes, dim)

    def along(self, frame, numbers, dim):
        """The one of the numbers, one for each dim, that is asked for."""
        n, wanted = max(len(numbers.items), 1), frame.ops.index(frame, dim)
        if not numbers.items or not -n <= wanted < n:
            text = f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {wanted})"
            raise frame.values.error(frame, IndexError, text)
        return numbers.getitem(frame, ConstantVariable(wanted))

    @method("stride")
    def stride(self, frame, dim=NONE):
        strides = TupleVariable([symbolic(frame, s) for s in self.meta.strides])
        return strides if dim.is_same(NONE) else self.along(frame, strides, dim)

    @method("storage_offset")
    def storage_offset(self, frame):
        return symbolic(frame, offset_of(frame.output, self))

    @method("numel", "nelement")
    def numel(self, frame):
        return symbolic(frame, self.meta.numel())

    @method("is_contiguous")
    def is_contiguous(self, frame, memory_format=NONE):
        wanted = None if memory_format.is_same(NONE) else memory_format.as_python()
        return boolean(self.meta.is_contiguous(wanted))

    @method("is_floating_point")
    def is_floating_point(self, frame):
        return boolean(self.meta.dtype.is_floating_point)

    @method("is_complex")
    def is_complex(self, frame):
        return boolean(self.meta.dtype.is_complex)

    @method("is_signed")
    def is_signed(self, frame):
        return boolean(self.meta.dtype.is_signed)

    @method("get_device")
    def device_index(self, frame):
        return ConstantVariable(-1 if self.meta.device.type == "cpu" else self.meta.device.index)


def offset_of(output: Any, tensor: TensorFacts) -> Any:
    """Where a tensor begins in its storage; where an input does is guarded."""
    root = tensor.root
    if root.value is None:
        return tensor.meta.offset
    offset = root.value.storage_offset()
    output.guard(guards.Equals(Converted(root.source, _native.Tensor.storage_offset), offset))
    return offset + tensor.meta.offset - root.meta.offset
