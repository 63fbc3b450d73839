"""Classes as values: their attributes, those of their metaclasses, and what makes objects of them."""

from __future__ import annotations

import types

from dynamo import _eval_frame, outcome
from dynamo.breaks import Raised
from dynamo.variables import attributes
from dynamo.variables.attributes import bind, find, find_function, is_data_descriptor, is_read_first, is_told, kind_of, storage_of
from dynamo.variables.base import TrueVariable, Variable
from dynamo.variables.construct import construct, construct_plain
from dynamo.variables.storage import ClassStorage


def is_special(name: str) -> bool:
    """Whether operators, containers and conversions may ask a class for it: what they were told before counts no more then, so that
    such a change is made by Python, between two graphs."""
    return name.startswith("__") and name.endswith("__")


class ClassVariable(TrueVariable):
    """A class."""

    __slots__ = ("value",)

    def __init__(self, value: type, source=None):
        super().__init__(source)
        self.value = value

    def __repr__(self):
        return f"ClassVariable({self.value.__qualname__})"

    def python_type(self):
        return type(self.value)

    def as_python(self):
        return self.value

    def describe(self):
        return f"the class {self.value.__qualname__}"

    def make_storage(self):
        return ClassStorage(self, self.value)

    # ------------------------------------------------------------------------------------------ attributes
    def getattr(self, frame, name):
        """The metaclass's `__getattribute__`, or type's, then its `__getattr__`."""
        if find_function(frame, type(self.value), "__getattribute__") is not None:
            return attributes.load(frame, self, name)
        return self.getattr_plainly(frame, name, find(frame, type(self.value), "__getattr__"))

    def getattr_plainly(self, frame, name, hook=None):
        """type.__getattribute__(self, name), then the hook."""
        try:
            return self.getattr_of_type(frame, name)
        except Raised as r:
            if hook is None or not issubclass(r.value.python_type(), AttributeError):
                raise
        return bind(frame, hook, self, frame.world.known(type(self.value))).call(frame, [frame.values.const(name)], {})

    def getattr_of_type(self, frame, name):
        """type.__getattribute__(self, name)"""
        meta = type(self.value)
        of_meta = frame.world.known(meta)
        on_meta = find(frame, meta, name)
        if on_meta is not None and is_read_first(frame, on_meta):
            return bind(frame, on_meta, self, of_meta)
        member = frame.world.enum_member(self.value, name)
        if member is not None:
            return member
        found = find(frame, self.value, name)
        if found is not None:
            return bind(frame, found, None, self)
        if on_meta is not None:
            return bind(frame, on_meta, self, of_meta)
        raise self.lacks(frame, name)

    def lacks(self, frame, name: str) -> Raised:
        cls = _eval_frame.type_name(self.value)
        return attributes.no_attribute(frame, self, name, f"type object '{cls}' has no attribute '{{1}}'")

    def member(self, frame, descriptor, name):
        if name == "__class__":
            return frame.world.known(type(self.value))
        if name == "__dict__":
            return frame.world.class_dict(self.value)
        stored = storage_of(frame, self).members.get(descriptor)
        found = frame.world.slot(self.value, frame.world.identity(self.value), descriptor, name) if stored is None else stored
        if found is None:
            raise self.lacks(frame, name)
        return found

    def setattr(self, frame, name, value):
        meta = type(self.value)
        hook = find_function(frame, meta, "__setattr__")
        if hook is not None:
            bind(frame, hook, self, frame.world.known(meta)).call(frame, [frame.values.const(name), value], {})
            return
        if frame.world.is_immutable(self.value):
            text = f"cannot set '{name}' attribute of immutable type '{_eval_frame.type_name(self.value)}'"
            raise frame.values.error(frame, TypeError, text)
        on_meta = find(frame, meta, name)
        if (on_meta is not None and is_data_descriptor(frame, on_meta)) or is_special(name):
            raise self.unsupported(f"setting {name}")
        self.refuse_descriptors(frame, f"setting {name}", name, value.python_type())
        storage_of(frame, self).write(frame, name, value)

    def refuse_descriptors(self, frame, what: str, name: str, *new: type) -> None:
        """Raise Unsupported where what is there, or comes, is told what objects set: where they keep it depends on when that
        changes, and objects made in the function are built before the classes change."""
        old = find(frame, self.value, name)
        if any(is_told(frame, kind) for kind in (*new, *([] if old is None else [kind_of(old)]))):
            raise self.unsupported(f"{what}, a descriptor")

    def delattr(self, frame, name):
        meta = type(self.value)
        if find_function(frame, meta, "__delattr__") is not None or frame.world.is_immutable(self.value) or is_special(name):
            raise self.unsupported(f"deleting {name}")
        self.refuse_descriptors(frame, f"deleting {name}", name)
        if not storage_of(frame, self).delete(frame, name):
            raise self.lacks(frame, name)

    # --------------------------------------------------------------------------------------------- calls
    def call(self, frame, args, kwargs):
        return construct(frame, self, args, kwargs)

    def method(self, frame, name, args, kwargs):
        return self.getattr(frame, name).call(frame, args, kwargs)

    def c_method(self, frame, descriptor, name):
        return frame.values.NativeMethod(self, descriptor)

    def c_call(self, frame, descriptor, args, kwargs):
        name = descriptor.__name__
        if descriptor is type.__dict__["__call__"]:
            return construct_plain(frame, self, args, kwargs)
        if name == "mro":
            return frame.values.list_([frame.world.known(c) for c in frame.world.mro(self.value)])
        if name in ("__instancecheck__", "__subclasscheck__"):
            asks = name == "__instancecheck__"
            cls = args[0].python_type() if asks else args[0].as_python()
            answer = frame.world.inherits(cls, self.value)
            claimed = attributes.claimed_class(frame, args[0]) if asks and not answer else None
            return frame.values.boolean(answer or (claimed is not None and frame.world.inherits(claimed, self.value)))
        if name == "__getattribute__":
            return self.getattr_plainly(frame, attributes.name_given(frame, args[0], object.__getattribute__))
        if descriptor is type.__dict__["__setattr__"]:
            if frame.world.is_immutable(self.value):  # (asked before the name)
                raise frame.ops.refused(frame, lambda name, cls=self.value: type.__setattr__(cls, name, None), args[0])
            storage_of(frame, self).write(frame, attributes.name_given(frame, args[0], object.__setattr__), args[1])
            return frame.values.NONE
        raise self.unsupported(f"method {name}")

    # ------------------------------------------------------------------------------- operations of metaclasses
    def special(self, frame, name: str) -> Variable | None:
        """A method of the metaclass."""
        found = find(frame, type(self.value), name)
        return None if found is None else bind(frame, found, self, frame.world.known(type(self.value)))

    def getitem(self, frame, key):
        found = find_function(frame, type(self.value), "__getitem__")
        if found is not None and not frame.world.is_enum(self.value):
            return self.special(frame, "__getitem__").call(frame, [key], {})
        of_class = find_function(frame, self.value, "__class_getitem__") if found is None else None
        if of_class is not None and not frame.world.is_library(self.value):
            return bind(frame, of_class, None, self).call(frame, [key], {})
        if frame.world.is_enum(self.value) and key.python_type() is not str:  # (KeyError is given the key itself)
            raise self.unsupported("[...]")
        return frame.values.run(frame, lambda: self.value[key.as_python()])

    def iterate(self, frame):
        if frame.world.is_enum(self.value):
            return frame.values.items_iterator([frame.world.known(m) for m in self.value])  # type: ignore[attr-defined]
        method = self.special(frame, "__iter__")
        if method is None:
            raise frame.values.error(frame, TypeError, f"'{self.type_name()}' object is not iterable")
        return method.call(frame, [], {}).iterate(frame)

    def length(self, frame):
        if frame.world.is_enum(self.value):
            return frame.values.const(len(self.value))  # type: ignore[arg-type]
        method = self.special(frame, "__len__")
        if method is None:
            text = f"object of type '{self.type_name()}' has no len()"
            raise frame.values.error(frame, TypeError, text)
        return method.call(frame, [], {})

    def contains(self, frame, item):
        method = self.special(frame, "__contains__")
        if method is None or frame.world.is_enum(self.value):
            return super().contains(frame, item)
        return frame.values.boolean(method.call(frame, [item], {}).truth(frame))

    def truth(self, frame):
        method = find_function(frame, type(self.value), "__bool__") or find_function(frame, type(self.value), "__len__")
        if method is None or frame.world.is_enum(self.value):
            return True
        return bind(frame, method, self, frame.world.known(type(self.value))).call(frame, [], {}).truth(frame)

    def binary(self, frame, op, other):
        name = frame.ops.ROWS[op].dunder
        found = find_function(frame, type(self.value), name)
        if found is not None:
            result = bind(frame, found, self, frame.world.known(type(self.value))).call(frame, [other], {})
            constant = isinstance(result, frame.values.ConstantVariable)
            return None if constant and result.value is NotImplemented else result
        if name == "__or__" and other.is_constant():
            return frame.values.run(frame, lambda: op(self.value, other.as_python()))
        return None

    # --------------------------------------------------------------------------------------------- identity
    def is_same(self, other):
        return isinstance(other, ClassVariable) and self.value is other.value

    def hash_key(self):
        return self.value

    def recipe(self, emit):
        return outcome.Const(self.value)


class ModuleVariable(Variable):
    """A Python module. Its attributes are the globals of its code."""

    __slots__ = ("value",)

    def __init__(self, value: types.ModuleType, source=None):
        super().__init__(source)
        self.value = value

    def python_type(self):
        return type(self.value)

    def as_python(self):
        return self.value

    def describe(self):
        return f"the module {self.value.__name__}"

    def namespace(self, frame):
        return frame.output.side_effects.namespace(frame.world.globals_of(self.value))

    def getattr(self, frame, name):
        if type(self.value) is not types.ModuleType and self.namespace(frame).changes.get(name) is None:
            if find(frame, type(self.value), name) is None:
                computed = frame.world.computed_member(frame, self.value, name)
                if computed is not None:
                    return computed
            elif name not in ("__class__", "__dict__"):
                raise self.unsupported(f"attribute {name} of its class")
        found = self.held(frame, name)
        if found is not None:
            return found
        if name == "__class__":
            return frame.world.known(type(self.value))
        if name == "__dict__":
            raise self.unsupported("__dict__")
        hook = frame.world.member(self.value, "__getattr__")
        if hook is not None:
            return hook.call(frame, [frame.values.const(name)], {})
        own = None if name == "__name__" else self.held(frame, "__name__")
        called = f"module '{own.as_python()}'" if own is not None and issubclass(own.python_type(), str) else "module"
        raise attributes.no_attribute(frame, self, name, f"{called} has no attribute '{{1}}'")

    def held(self, frame, name: str) -> Variable | None:
        """What the module itself holds under a name, None for nothing."""
        stored = self.namespace(frame).changes.get(name)
        if stored is None:
            return frame.world.member(self.value, name)
        return None if stored is attributes.NULL else stored.realize(frame)

    def setattr(self, frame, name, value):
        self.namespace(frame).write(frame, name, value)

    def delattr(self, frame, name):
        if not self.namespace(frame).delete(frame, name):
            text = f"'{type(self.value).__name__}' object has no attribute '{{1}}'"
            raise attributes.no_attribute(frame, self, name, text)

    def is_same(self, other):
        return isinstance(other, ModuleVariable) and self.value is other.value

    def hash_key(self):
        return self.value

    def recipe(self, emit):
        return outcome.Const(self.value)
