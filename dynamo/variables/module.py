"""nn.Module: an ordinary object, with short cuts for its `__getattr__`, `__setattr__` and `__call__`."""

from __future__ import annotations

import sys
from typing import Any

import aten
from dynamo import guards, module_stack
from dynamo.source import Attr, InstanceDict, Item
from dynamo.variables import attributes
from dynamo.variables.attributes import find, storage_of
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.mapping import MISSING, DictVariable
from dynamo.variables.object import ObjectVariable

STORES = ("_parameters", "_buffers", "_modules")
HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")
ORIGINALS: dict[str, Any] = {}  # the methods of nn.Module that have short cuts, as they were when it was first met


def module_class() -> type | None:
    """weft.nn.Module, if it was imported."""
    found = sys.modules.get("weft.nn.module")
    return None if found is None else getattr(found, "Module", None)


def hooks_of_every_module() -> bool:
    """Whether a call must ask hooks that are registered for all modules; when those change, all is compiled again."""
    return sys.modules["weft.nn.hooks"].every.calls


def is_module(value: Any) -> bool:
    cls = module_class()
    if cls is None or not issubclass(type(value), cls):
        return False
    if not ORIGINALS:
        ORIGINALS.update({name: cls.__dict__[name] for name in ("__getattr__", "__setattr__", "__call__")})
    return True


class ModuleObject(ObjectVariable):
    """A module from outside."""

    __slots__ = ()

    def inherits(self, frame, name: str) -> bool:
        """Whether the class leaves this method as nn.Module has it."""
        found = find(frame, self.cls, name)
        return found is not None and found.raw is ORIGINALS[name]

    def store(self, frame, name: str) -> dict | DictVariable | None:
        """`_parameters`, `_buffers` or `_modules`: the real dict while nothing was traced through it."""
        storage = storage_of(frame, self)
        if storage.mapping is not None or name in storage.changes:
            value = storage.read(frame, name)
            return value if isinstance(value, DictVariable) else None
        real = frame.world.peek(self.value, name)
        if isinstance(frame.output.by_id.get(id(real)), DictVariable):
            return frame.world.wrap(real, Item(InstanceDict(self.source), name))
        return real

    def getattr(self, frame, name):
        """What is stored by nn.Module is found without tracing its `__getattr__`."""
        plain = attributes.find_function(frame, self.cls, "__getattribute__") is None
        if plain and find(frame, self.cls, name) is None and self.inherits(frame, "__getattr__"):
            own = storage_of(frame, self).read(frame, name)
            found = self.stored(frame, name) if own is None else own
            if found is not None:
                return found
        return super().getattr(frame, name)

    def stored(self, frame, name: str) -> Variable | None:
        """A parameter, buffer or sub-module; the stores that do not have it are guarded as well."""
        for where in STORES:
            values = self.store(frame, where)
            if isinstance(values, DictVariable):
                found = values.lookup(frame, ConstantVariable(name))
                if found is not MISSING:
                    return found
                continue
            source = Item(InstanceDict(self.source), where)
            if values is not None and frame.world.looks_into(self.value, self.source, where, values, name):
                return frame.world.wrap(values[name], Item(source, name))
            if values is not None:
                frame.output.guard(guards.LacksKey(source, name))
        return None

    def holds(self, frame, where: str, name: str) -> bool:
        """Whether a store has `name`; that it has not is guarded."""
        values = self.store(frame, where)
        if isinstance(values, DictVariable):
            return values.lookup(frame, ConstantVariable(name)) is not MISSING
        if values is not None and frame.world.looks_into(self.value, self.source, where, values, name):
            return True
        if values is not None:
            frame.output.guard(guards.LacksKey(Item(InstanceDict(self.source), where), name))
        return False

    def setattr(self, frame, name, value):
        if not self.inherits(frame, "__setattr__"):
            super().setattr(frame, name, value)
            return
        buffers = self.store(frame, "_buffers")
        is_buffer = name in (buffers if isinstance(buffers, dict) else {k.as_python() for k in buffers.unpack(frame)})
        fits = is_buffer and (issubclass(value.python_type(), aten.Tensor) or value.is_same(frame.values.NONE))
        if fits and not self.holds(frame, "_parameters", name) and not self.holds(frame, "_modules", name):
            storage_of(frame, self).read(frame, "_buffers").setitem(frame, ConstantVariable(name), value)
        elif self.stored(frame, name) is None and not self.registers(value):
            attributes.store_plainly(frame, self, name, value)
        else:
            super().setattr(frame, name, value)

    def registers(self, value: Variable) -> bool:
        """Whether assigning the value files it as a parameter or sub-module."""
        cls = value.python_type()
        return issubclass(cls, aten.Parameter) or issubclass(cls, module_class() or ())

    def call(self, frame, args, kwargs):
        if not frame.output.options.export:
            return self.called(frame, args, kwargs)
        with module_stack.called(frame.output, self.value):
            return self.called(frame, args, kwargs)

    def called(self, frame, args: list, kwargs: dict) -> Variable:
        """What a call gives."""
        if not self.inherits(frame, "__call__"):
            return super().call(frame, args, kwargs)
        changed = storage_of(frame, self).changes
        if any(frame.world.peek(self.value, h) or changed.get(h) for h in HOOKS) or hooks_of_every_module():
            return self.getattr(frame, "_call_impl").call(frame, args, kwargs)  # past what `compile()` left on the instance
        for hooks in HOOKS:
            frame.output.guard(guards.LengthIs(Attr(self.source, hooks), 0))
        return self.getattr(frame, "forward").call(frame, args, kwargs)
