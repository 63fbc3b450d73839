"""`Storage`: the attributes of one object: what lies outside, as the traced program has changed it so far.

Instances, functions, tensors, exceptions, classes and modules all keep their attributes in one. Reads of what was not
changed go through the World, which guards them; changes of objects from outside are replayed after the graph, those of
new objects when the object is made.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from dynamo import outcome
from dynamo.variables.base import NULL, Variable

if TYPE_CHECKING:
    from dynamo.interpreter.frame import Frame
    from dynamo.source import Source


class Storage:
    """The attributes of `owner`. `real` is the object itself if it comes from outside, None if tracing made it.

    `changes`: name → value, in the order of the first store; NULL stands for what existed outside and was deleted.
    `anew` are names deleted and stored again, which come last. `members` are the values behind C descriptors
    (`__slots__`, say), by descriptor. Once the program has asked for `__dict__` itself, `mapping` is that dict, and the
    attributes are its items, but for the names `apart`, which the object holds elsewhere.
    """

    __slots__ = ("owner", "real", "changes", "anew", "members", "mapping", "mapping_is_new", "apart")

    def __init__(self, owner: Variable, real: Any = None, apart: tuple[str, ...] = ()):
        self.owner = owner
        self.real = real
        self.apart = apart
        self.changes: dict[str, Variable] = {}
        self.anew: set[str] = set()
        self.members: dict[Any, Variable] = {}
        self.mapping: Any = None
        self.mapping_is_new = False

    @property
    def source(self) -> Source | None:
        return self.owner.source

    @property
    def entries(self) -> dict:
        """What was changed (side effects ask how much)."""
        return {}

    # --------------------------------------------------------------------------------------------- outside
    def outside(self, frame: Frame, name: str) -> Variable | None:
        """What the real object holds, guarded either way; None for nothing."""
        return frame.world.own_attribute(self.real, self.source, name)

    def is_outside(self, frame: Frame, name: str) -> bool:
        """Whether the real object holds something; guarded, whatever it holds."""
        return self.real is not None and frame.world.has_own(self.real, self.source, name)

    def outside_names(self, frame: Frame) -> tuple[str, ...]:
        return frame.world.own_names(self.real, self.source)

    def touch(self, frame: Frame) -> None:
        """A change is coming."""
        frame.output.side_effects.check(self.owner, self.real is not None)
        if self.real is not None:
            frame.world.changes(self.real, self.source)
            frame.output.side_effects.dirty.setdefault(self)

    # ---------------------------------------------------------------------------------- names and their values
    def read(self, frame: Frame, name: str) -> Variable | None:
        """The value under `name`, None if there is none."""
        mapping = self.mapping_for(frame, name)
        if mapping is not None:
            key = frame.values.const(name)
            return mapping.getitem(frame, key) if frame.ops.contains(frame, mapping, key) else None
        value = self.changes.get(name)
        if value is not None:
            return None if value is NULL else value.realize(frame)
        return None if self.real is None else self.outside(frame, name)

    def write(self, frame: Frame, name: str, value: Variable) -> None:
        mapping = self.mapping_for(frame, name)
        if mapping is not None:
            mapping.setitem(frame, frame.values.const(name), value)
            return
        self.touch(frame)
        if self.changes.get(name) is NULL:
            del self.changes[name]
            self.anew.add(name)
        self.changes[name] = value

    def delete(self, frame: Frame, name: str) -> bool:
        """Delete `name`. Whether it was there."""
        mapping = self.mapping_for(frame, name)
        if mapping is not None:
            key = frame.values.const(name)
            if not frame.ops.contains(frame, mapping, key):
                return False
            mapping.delitem(frame, key)
            return True
        known = self.changes.get(name)
        if known is NULL:
            return False
        outside = name in self.anew or self.is_outside(frame, name)
        if known is None and not outside:
            return False
        self.touch(frame)
        self.changes.pop(name, None)
        self.anew.discard(name)
        if outside:
            self.changes[name] = NULL
        return True

    def names(self, frame: Frame) -> list[str]:
        """All names, in the order in which Python has them."""
        mapping = self.mapping or self.adopt(frame)
        if mapping is not None:
            return [k.as_python() for k in mapping.unpack(frame)]
        kept: dict[str, None] = {}
        if self.real is not None:
            kept = {n: None for n in self.outside_names(frame) if self.changes.get(n) is not NULL}
            for n in self.anew:
                kept.pop(n, None)
        kept.update(dict.fromkeys(n for n, v in self.changes.items() if v is not NULL and n not in self.apart))
        return list(kept)

    # -------------------------------------------------------------------------------------- the dict itself
    def as_dict(self, frame: Frame) -> Variable:
        """`__dict__`: from here on the attributes are its items."""
        if self.mapping is None and self.adopt(frame) is None:
            if self.real is None:
                if issubclass(self.owner.python_type(), types.SimpleNamespace):  # whose `__dict__` cannot be set
                    raise self.owner.unsupported("attribute __dict__")
                self.mapping = frame.values.dict_()
                self.mapping_is_new = True
            else:
                self.mapping = frame.world.own_dict(self.real, self.source)
            self.move_changes(frame)
        return self.mapping

    def mapping_for(self, frame: Frame, name: str) -> Any:
        """The dict that holds what is under `name`, if the program has it."""
        return None if name in self.apart else self.mapping or self.adopt(frame)

    def adopt(self, frame: Frame) -> Any:
        """The Variable of the real `__dict__`, if the program came by it on another way."""
        if self.real is None:
            return None
        known = frame.world.known_dict(self.real, self.source)
        if known is not None:
            self.mapping = known
            self.move_changes(frame)
        return known

    def move_changes(self, frame: Frame) -> None:
        changes, self.changes = self.changes, {n: v for n, v in self.changes.items() if n in self.apart}
        for name, value in changes.items():
            if name in self.apart:
                continue
            key = frame.values.const(name)
            if value is NULL or name in self.anew:
                self.mapping.delitem(frame, key)
            if value is not NULL:
                self.mapping.setitem(frame, key, value)
        self.anew.clear()

    def replace_dict(self, frame: Frame, mapping: Variable) -> None:
        """`owner.__dict__ = mapping`"""
        self.touch(frame)
        self.changes = {n: v for n, v in self.changes.items() if n in self.apart}
        self.anew.clear()
        self.mapping = mapping
        self.mapping_is_new = True

    # --------------------------------------------------------------------------------- behind C descriptors
    def write_member(self, frame: Frame, descriptor: Any, value: Variable) -> None:
        """Store behind a descriptor of C; NULL for what existed outside and is deleted."""
        self.touch(frame)
        self.members[descriptor] = value

    # ---------------------------------------------------------------------------------------------- replay
    @property
    def changed(self) -> bool:
        return bool(self.changes or self.members or self.mapping_is_new)

    def replay(self, emit) -> None:
        """Statements that give the object outside its new attributes."""
        if self.changed:
            self.fill(emit, emit.value(self.owner))

    def fill(self, emit, target: Any) -> None:
        """Statements that give the object that `target` makes its attributes, past any hook (it was traced already)."""
        if self.mapping_is_new:
            self.set(emit, target, "__dict__", emit.value(self.mapping))
        for name, value in list(self.changes.items()):
            if value is NULL or name in self.anew:
                self.unset(emit, target, name)
            if value is not NULL:
                self.set(emit, target, name, emit.value(value))
        for descriptor, value in list(self.members.items()):
            if value is NULL:
                emit.after(outcome.Do(outcome.Call(outcome.Const(descriptor.__delete__), (target,))))
            else:
                args = (target, emit.value(value))
                emit.after(outcome.Do(outcome.Call(outcome.Const(descriptor.__set__), args)))

    def set(self, emit, target: Any, name: str, value: Any) -> None:
        setter = emit.output.world.setter_below_hooks(self.owner.python_type(), "__setattr__")
        if setter is None:
            emit.after(outcome.SetAttr(target, name, value))
        else:
            emit.after(outcome.Do(outcome.Call(outcome.Const(setter), (target, outcome.Const(name), value))))

    def unset(self, emit, target: Any, name: str) -> None:
        deleter = emit.output.world.setter_below_hooks(self.owner.python_type(), "__delattr__")
        if deleter is None:
            emit.after(outcome.DelAttr(target, name))
        else:
            emit.after(outcome.Do(outcome.Call(outcome.Const(deleter), (target, outcome.Const(name)))))


class ClassStorage(Storage):
    """What a class itself holds (its bases have storages of their own)."""

    __slots__ = ()

    def outside(self, frame, name):
        raise AssertionError("classes are read along their MRO: attributes.find")

    def is_outside(self, frame, name):
        return frame.world.class_has_own(self.real, name)

    def outside_names(self, frame):
        return frame.world.class_names(self.real)

    def adopt(self, frame):
        return None

    def read(self, frame, name):
        value = self.changes.get(name)
        return None if value is None or value is NULL else value.realize(frame)

    def touch(self, frame):
        frame.world.paths.check_class()
        super().touch(frame)
        frame.output.side_effects.classes[self.real] = self


class Namespace(Storage):
    """The globals of a module: its attributes, and what the code in it calls globals. `real` is the dict."""

    __slots__ = ()

    def __init__(self, real: dict):
        super().__init__(NULL, real)

    @property
    def source(self):
        return None  # it is no value that could be compared with others

    def outside(self, frame, name):
        raise AssertionError("globals are read by the world: builtins come behind them")

    def is_outside(self, frame, name):
        return frame.world.namespace_has(self.real, name)

    def adopt(self, frame):
        return None

    def touch(self, frame):
        frame.world.paths.check_names(self.real, stores=True)
        frame.world.paths.met(self.real, frame.world.identity(self.real))
        super().touch(frame)

    def replay(self, emit):
        own = self.real is emit.output.root.globals
        here = outcome.Const(self.real)
        for name, value in list(self.changes.items()):
            if value is NULL or name in self.anew:
                if own:
                    emit.after(outcome.DelGlobal(name))
                else:
                    emit.after(outcome.Do(outcome.Call(outcome.Const(dict.pop), (here, outcome.Const(name)))))
            if value is not NULL:
                if own:
                    emit.after(outcome.SetGlobal(name, emit.value(value)))
                else:
                    emit.after(outcome.SetItem(here, outcome.Const(name), emit.value(value)))
