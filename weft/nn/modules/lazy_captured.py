"""Lazy modules in compiled code: the first call gives the parameters their sizes while it is captured, and its graph has them.

`initialize_parameters` runs for real, on fake tensors of the sizes that are known, and the capture begins again. Where it asks
for data, what it did is undone, and the module is left to Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aten
from aten import Tensor
from aten.meta import Meta
from dynamo import breaks
from dynamo.breaks import Again, NotConstant, Unsupported
from weft._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    is_fake,
)
from weft.nn.uninitialized import is_lazy
from weft.utils import _pytree as pytree

_STORES = ("_parameters", "_buffers", "_modules")


def initialize(frame: Any, args: list[Any], infer: Callable[..., None]) -> Any:
    """The hook `infer` of a lazy module, which is called before its first `forward`."""
    module = getattr(args[0].realize(frame), "value", None)
    if module is None:
        raise Unsupported(breaks.UNKNOWN_CALL, "the first call of a lazy module that was made in the compiled function")
    given = [_example(frame, v) for v in args[1:]]
    before = _State(module)
    try:
        infer(module, *given)
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        before.restore()
        raise Unsupported(breaks.UNKNOWN_CALL, f"initialize_parameters of a lazy module, which needs data: {error}") from None
    except Exception:  # Python meets it again, on real tensors
        before.restore()
        raise Unsupported(breaks.UNKNOWN_CALL, "initialize_parameters of a lazy module, which raises") from None
    if any(map(is_fake, [*module.parameters(), *module.buffers()])):
        before.restore()
        raise Unsupported(breaks.UNKNOWN_CALL, "initialize_parameters of a lazy module, which makes parameters like an argument")
    raise Again


def _example(frame: Any, value: Any) -> Any:
    """An argument as it is known while capturing: a fake tensor, a constant, or a container of such."""
    value = value.realize(frame)
    try:
        meta = value.as_meta()
    except NotConstant:
        meta = None
    if type(meta) is Meta:
        sizes, strides = [int(s) for s in meta.sizes], [int(s) for s in meta.strides]
        elem = aten.empty_strided(sizes, strides, dtype=meta.dtype, device="meta")
        return FakeTensor(FakeTensorMode(allow_non_fake_inputs=True), elem, meta.device)
    if value.python_type() in (list, tuple):
        return value.python_type()(_example(frame, v) for v in value.unpack(frame))
    if value.python_type() is dict:
        return {k.as_python(): _example(frame, v) for k, v in value.pairs(frame)}
    if issubclass(value.python_type(), tuple) and hasattr(value.python_type(), "_make"):
        return value.python_type()._make([_example(frame, v) for v in value.unpack(frame)])
    return value.as_python()


class _State:
    """What a module and its lazy parameters are, and where the random numbers stand."""

    def __init__(self, module: Any):
        self.module, self.cls = module, type(module)
        self.own = dict(module.__dict__)
        self.stores = {name: dict(module.__dict__[name]) for name in _STORES}
        self.hooks = dict(module._forward_pre_hooks)
        self.with_kwargs = dict(module._forward_pre_hooks_with_kwargs)
        self.load_hooks = dict(module._load_state_dict_pre_hooks)
        lazy: list[Any] = [v for v in pytree.tree_leaves(self.stores) if isinstance(v, Tensor) and is_lazy(v)]
        self.lazy = [(p, type(p), p.data) for p in lazy]
        self.random = aten.get_rng_state()

    def restore(self) -> None:
        module: Any = self.module
        module.__class__ = self.cls
        for kept, now in (
            (self.hooks, module._forward_pre_hooks),
            (self.with_kwargs, module._forward_pre_hooks_with_kwargs),
            (self.load_hooks, module._load_state_dict_pre_hooks),
            *((kept, self.own[name]) for name, kept in self.stores.items()),
            (self.own, module.__dict__),
        ):
            now.clear()
            now.update(kept)
        for p, cls, data in self.lazy:
            p.__class__ = cls
            p.data = data
        aten.set_rng_state(self.random)
