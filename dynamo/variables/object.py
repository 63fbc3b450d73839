"""Objects of Python classes: a Storage for the attributes and, for subclasses of builtin types, a native part."""

from __future__ import annotations

import _operator as operator
import collections
import types
from typing import Any

from dynamo import outcome
from dynamo.breaks import NotConstant, Raised
from dynamo.operators import ROWS, UNARY
from dynamo.real_objects import class_module, class_name
from dynamo.variables import attributes
from dynamo.variables.attributes import C_METHODS, MEMBERS, find, storage_of
from dynamo.variables.base import NULL, SEQUENCES, Exhausted, IdentityKey, TrueVariable, Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.raising import run_python
from dynamo.variables.storage import Storage

FACTORY: Any = collections.defaultdict.default_factory

# Where None stands for a special method that the class does not have; elsewhere it is called.
NONE_IS_NONE = frozenset({"__iter__", "__contains__", "__reversed__", "__hash__", "__aiter__", "__anext__"})


class ObjectVariable(Variable):
    """An instance of a Python class: one from outside (`value`, `source`), or made while tracing (`value` None).

    `native` is what a builtin base class gives it: the Variable of the dict, list, int … that the object is besides its
    attributes (None without such a base). Methods of that base written in C are rules of the native part.
    """

    __slots__ = ("value", "cls", "native")

    def __init__(self, cls: type, value: Any = None, source=None, native: Any = None):
        super().__init__(source)
        self.cls = cls
        self.value = value
        self.native = native

    def __repr__(self):
        return f"ObjectVariable({self.describe()})"

    def python_type(self):
        return self.cls

    def describe(self):
        return f"an object of class {class_name(self.cls)}"

    def make_storage(self) -> Storage:
        return Storage(self, self.value)

    def as_arg(self):
        return super().as_arg() if self.native is None else self.native.as_arg()

    def as_meta(self):
        return super().as_meta() if self.native is None else self.native.as_meta()

    # -------------------------------------------------------------------------------------- attributes
    def getattr(self, frame, name):
        return attributes.load(frame, self, name)

    def setattr(self, frame, name, value):
        attributes.store(frame, self, name, value)

    def delattr(self, frame, name):
        attributes.remove(frame, self, name)

    def member(self, frame, descriptor, name):
        if name == "__class__":
            return frame.world.known(self.cls)
        if name == "__dict__":
            return storage_of(frame, self).as_dict(frame)
        stored = storage_of(frame, self).members.get(descriptor)
        if stored is None and self.value is not None:
            stored = frame.world.slot(self.value, self.source, descriptor, name)
        if stored is None and descriptor is FACTORY and self.native is not None:  # (of one that the function has made)
            stored = self.native.default_factory
        if stored is None or stored is NULL:
            raise attributes.unset(frame, self, name)
        return stored.realize(frame)

    def hasattr_member(self, frame, descriptor, name: str) -> bool:
        """Whether there is something behind a descriptor of C."""
        stored = storage_of(frame, self).members.get(descriptor)
        if stored is None and self.value is not None:
            stored = frame.world.slot(self.value, self.source, descriptor, name)
        return stored is not None and stored is not NULL

    def set_member(self, frame, descriptor, name, value):
        if name == "__dict__" and isinstance(value, frame.values.DictVariable):
            storage_of(frame, self).replace_dict(frame, value)
        elif isinstance(descriptor, types.MemberDescriptorType):
            storage_of(frame, self).write_member(frame, descriptor, value)
            if descriptor is FACTORY and self.native is not None:
                self.native.default_factory = value  # which keys that are missing ask
        else:
            raise self.unsupported(f"setting {name}")

    def del_member(self, frame, descriptor, name):
        if not isinstance(descriptor, types.MemberDescriptorType):
            raise self.unsupported(f"deleting {name}")
        storage = storage_of(frame, self)
        if not self.hasattr_member(frame, descriptor, name):
            raise attributes.no_attribute(frame, self, name, "{1}")
        if self.value is None:
            del storage.members[descriptor]
        elif frame.world.slot(self.value, self.source, descriptor, name) is None:
            storage.touch(frame)
            del storage.members[descriptor]
        else:
            storage.write_member(frame, descriptor, NULL)

    # ----------------------------------------------------------------------------------------- methods
    def special(self, frame, name: str) -> Variable | None:
        """A method that operators look up on the class, bound; None if the class has none."""
        found = find(frame, self.cls, name)
        if found is None or (found.raw is None and name in NONE_IS_NONE):
            return None
        return attributes.bind(frame, found, self, frame.world.known(self.cls))

    def required(self, frame, name: str, text: str) -> Variable:
        method = self.special(frame, name)
        if method is None:
            raise frame.values.error(frame, TypeError, f"'{self.type_name()}' object {text}")
        return method

    def c_method(self, frame, descriptor, name):
        return NativeMethod(self, descriptor)

    def c_call(self, frame, descriptor, args, kwargs):
        if descriptor.__objclass__ is object:
            rule = OBJECT_METHODS.get(descriptor.__name__)
            if rule is None:
                raise self.unsupported(f"method {descriptor.__name__}")
            return rule(self, frame, *args, **kwargs)
        if self.native is None:
            raise self.unsupported(f"method {descriptor.__name__}")
        if frame.world.on_class(self.native.base, descriptor.__name__) not in (None, descriptor):  # dict.copy of an OrderedDict
            raise self.unsupported(f"{descriptor.__objclass__.__name__}.{descriptor.__name__}")
        result = self.native.part_call(frame, descriptor.__name__, args, kwargs)
        return self if result is self.native else result

    def call(self, frame, args, kwargs):
        return self.required(frame, "__call__", "is not callable").call(frame, args, kwargs)

    def method(self, frame, name, args, kwargs):
        return self.getattr(frame, name).call(frame, args, kwargs)

    def as_typing(self) -> Any:
        """An object of the module typing, which cannot change."""
        if self.value is None:
            raise NotConstant(self)
        return self.value

    # -------------------------------------------------------------------------------------- containers
    def truth(self, frame):
        method = self.special(frame, "__bool__")
        if method is not None:
            result = method.call(frame, [], {})
            if result.python_type() is not bool:
                text = f"__bool__ should return bool, returned {result.type_name()}"
                raise frame.values.error(frame, TypeError, text)
            return result.truth(frame)
        return find(frame, self.cls, "__len__") is None or self.length(frame).truth(frame)

    def length(self, frame):
        method = self.special(frame, "__len__")
        if method is None:
            raise frame.values.error(frame, TypeError, f"object of type '{self.type_name()}' has no len()")
        result = method.call(frame, [], {})
        if not result.is_constant():
            return result
        if not isinstance(result.as_python(), int):
            text = f"'{result.type_name()}' object cannot be interpreted as an integer"
            raise frame.values.error(frame, TypeError, text)
        if result.as_python() < 0:
            raise frame.values.error(frame, ValueError, "__len__() should return >= 0")
        return result

    def getitem(self, frame, key):
        if class_module(self.cls) == "typing":  # List[int] and the like
            made = run_python(frame, operator.getitem, self.as_typing(), frame.ops.real(frame, key))
            return frame.world.known(frame.output.kept(made))
        if (part := self.part_of_slot(frame, "__getitem__")) is not None:
            return part.getitem(frame, key)
        return self.required(frame, "__getitem__", "is not subscriptable").call(frame, [key], {})

    def part_of_slot(self, frame, *names: str) -> Variable | None:
        """The part that an operator reaches in C, past the methods of these names, which have other words for what they refuse:
        the class leaves them all to the builtin class."""
        part: Any = self.native
        if part is None or not part.words_of_slots:
            return None
        ours = all(frame.world.on_class(self.cls, name) is frame.world.on_class(part.base, name) for name in names)
        return part if ours else None

    def setitem(self, frame, key, value):
        if (part := self.part_of_slot(frame, "__setitem__", "__delitem__")) is not None:
            part.setitem(frame, key, value)
            return
        self.storing_item(frame, "__setitem__", "does not support item assignment").call(frame, [key, value], {})

    def delitem(self, frame, key):
        if (part := self.part_of_slot(frame, "__setitem__", "__delitem__")) is not None:
            part.delitem(frame, key)
            return
        does_not = "does not" if frame.world.lacks(key.python_type(), "__index__") else "doesn't"
        self.storing_item(frame, "__delitem__", f"{does_not} support item deletion").call(frame, [key], {})

    def storing_item(self, frame, name: str, text: str) -> Variable:
        """One of the two methods that share a slot of C: where a class has the other alone, the slot looks for this one in vain."""
        other = "__delitem__" if name == "__setitem__" else "__setitem__"
        if find(frame, self.cls, name) is None and find(frame, self.cls, other) is not None:
            raise frame.values.error(frame, AttributeError, name)
        return self.required(frame, name, text)

    def contains(self, frame, item):
        found = find(frame, self.cls, "__contains__")
        if found is not None and found.raw is None:
            raise frame.values.error(frame, TypeError, f"'{self.type_name()}' object is not a container")
        if found is not None:
            return frame.values.boolean(self.special(frame, "__contains__").call(frame, [item], {}).truth(frame))
        if find(frame, self.cls, "__iter__") is None and find(frame, self.cls, "__getitem__") is None:
            raise frame.ops.not_searched(frame, self)
        raise NotConstant(self)

    def iterate(self, frame):
        found = find(frame, self.cls, "__iter__")
        if found is not None and found.raw is not None:
            iterator = self.special(frame, "__iter__").call(frame, [], {})
            if frame.world.lacks(iterator.python_type(), "__next__"):
                text = f"iter() returned non-iterator of type '{iterator.type_name()}'"
                raise frame.values.error(frame, TypeError, text)
            return frame.values.iterator.ObjectIterator(iterator) if isinstance(iterator, ObjectVariable) else iterator
        if found is None and find(frame, self.cls, "__getitem__") is not None:
            return frame.values.sequence_iterator(self.special(frame, "__getitem__"))
        raise frame.values.error(frame, TypeError, f"'{self.type_name()}' object is not iterable")

    def next(self, frame):
        method = self.required(frame, "__next__", "is not an iterator")
        try:
            return method.call(frame, [], {})
        except Raised as r:
            if not issubclass(r.value.python_type(), StopIteration):
                raise
            raise Exhausted(r.value.getattr(frame, "value"), r) from None

    # --------------------------------------------------------------------------------------- operators
    def example(self):
        return super().example() if self.native is None or self.value is not None else self.native.example()

    def operator_method(self, frame, name: str, other: Variable) -> Variable | None:
        method = self.special(frame, name)
        if method is None or (name in REPEATS and repeats_not(frame, method, other)):
            return None
        result = method.call(frame, [other], {})
        constant = isinstance(result, frame.values.ConstantVariable)
        return None if constant and result.as_python() is NotImplemented else result

    def binary(self, frame, op, other):
        row = ROWS[op]
        return self.operator_method(frame, row.dunder if op is row.function else row.inplace_dunder, other)

    def reflected(self, frame, op, other):
        return self.operator_method(frame, ROWS[op].reflected, other)

    def unary(self, frame, op):
        row = UNARY[op]
        text = f"bad operand type for {'' if row.symbol == 'abs()' else 'unary '}{row.symbol}: '{self.type_name()}'"
        method = self.special(frame, row.dunder)
        if method is None:
            raise frame.values.error(frame, TypeError, text)
        return method.call(frame, [], {})

    # ---------------------------------------------------------------------------------------- identity
    def is_same(self, other):
        if self is other or not isinstance(other, ObjectVariable):
            return self is other
        return self.value is not None and self.value is other.value

    def hash_key(self):
        return IdentityKey(self) if self.native is None else self.native.hash_key()

    # ----------------------------------------------------------------------------------------- rebuild
    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def fill(temp):
            if self.native is not None:
                self.native.fill_part(emit, temp)
            storage = emit.output.side_effects.storages.get(self)
            if storage is not None:
                storage.fill(emit, temp)

        return emit.shared(self, lambda: self.making(emit), fill)

    def making(self, emit) -> Any:
        """The recipe of the empty object."""
        if self.native is not None:
            return self.native.making(emit, self.cls)
        return outcome.Call(outcome.Const(object.__new__), (outcome.Const(self.cls),))


class NativeMethod(Variable):
    """A bound method that a class written in C gives to an object: its own, whatever overrides it."""

    __slots__ = ("object", "descriptor")

    def __init__(self, object: Variable, descriptor: Any):
        super().__init__()
        self.object = object
        self.descriptor = descriptor

    @property
    def name(self) -> str:
        return self.descriptor.__name__

    def python_type(self):
        is_slot = isinstance(self.descriptor, types.WrapperDescriptorType)
        return types.MethodWrapperType if is_slot else types.BuiltinMethodType

    def describe(self):
        return f"the method {self.name} of {self.object.describe()}"

    def truth(self, frame):
        return True

    def getattr(self, frame, name):
        if name == "__self__":
            return self.object
        if name == "__name__":
            return frame.values.const(self.name)
        return super().getattr(frame, name)

    def call(self, frame, args, kwargs):
        return self.object.call_c(frame, self.descriptor, args, kwargs)

    def hash_key(self):
        return ("method", self.name, self.object.hash_key())

    def recipe(self, emit):
        bound = outcome.Const(self.descriptor.__get__)
        return outcome.Call(bound, (emit.value(self.object),))


BOUND: dict[type, type] = {  # what methods of a class become for an object of it
    types.MethodDescriptorType: types.BuiltinMethodType,
    types.WrapperDescriptorType: types.MethodWrapperType,
    types.FunctionType: types.MethodType,
}


class BoundMethod(TrueVariable):
    """A method of a kind of value whose `method()` knows it: [].append, x.size …"""

    __slots__ = ("object", "name")

    def __init__(self, object: Variable, name: str, source=None):
        super().__init__(source)
        self.object = object
        self.name = name

    def python_type(self):
        found = type(getattr(self.object.python_type(), self.name, len))
        return BOUND.get(found) or (types.MethodType if hasattr(found, "__get__") else found)

    def describe(self):
        return f"the method {self.name} of {self.object.describe()}"

    def call(self, frame, args, kwargs):
        return self.object.method(frame, self.name, args, kwargs)

    def getattr(self, frame, name):
        if name == "__self__":
            return self.object
        if name == "__name__":
            return ConstantVariable(self.name)
        return super().getattr(frame, name)

    def binary(self, frame, op, other):
        """Those of one name and object are equal, each time the object is asked for another one."""
        if op in (operator.eq, operator.ne) and isinstance(other, BoundMethod):
            equal = self.name == other.name and frame.ops.same(frame, self.object, other.object)
            return frame.values.boolean(equal == (op is operator.eq))
        return super().binary(frame, op, other)

    def hash_key(self):
        return ("method", self.name, self.object.hash_key())

    def recipe(self, emit):
        return outcome.GetAttr(emit.value(self.object), self.name)


REPEATS = ("__mul__", "__rmul__", "__imul__")


def repeats_not(frame, method: Variable, times: Variable) -> bool:
    """Whether an operator asks a sequence of C to be repeated, and not by a number: the operator has words of its own."""
    of_sequence = isinstance(method, NativeMethod) and issubclass(method.descriptor.__objclass__, SEQUENCES)
    return of_sequence and frame.world.lacks(times.python_type(), "__index__")


# ---------------------------------------------------------------------------------------- methods of `object` itself
def _setattr(self, frame, name, value):
    attributes.store_plainly(frame, self, attributes.name_given(frame, name, object.__setattr__), value)
    return frame.values.NONE


def _delattr(self, frame, name):
    attributes.remove_plainly(frame, self, attributes.name_given(frame, name, object.__delattr__))
    return frame.values.NONE


def _init(self, frame, *args, **kwargs):
    if args or kwargs:
        cls = self.python_type()
        if (init := find(frame, cls, "__init__")) is not None and init.raw is not object.__dict__["__init__"]:
            text = "object.__init__() takes exactly one argument (the instance to initialize)"
            raise frame.values.error(frame, TypeError, text)
        new = find(frame, cls, "__new__")
        if new is not None and new.raw is object.__dict__["__new__"]:
            text = f"{self.type_name()}.__init__() takes exactly one argument (the instance to initialize)"
            raise frame.values.error(frame, TypeError, text)
    return frame.values.NONE


def _eq(self, frame, other):
    same = frame.ops.same(frame, self, other)
    return frame.values.TRUE if same else frame.values.const(NotImplemented)


def _ne(self, frame, other):
    result = self.special(frame, "__eq__").call(frame, [other], {})
    if isinstance(result, frame.values.ConstantVariable) and result.value is NotImplemented:
        return result
    return frame.values.boolean(not result.truth(frame))


def _not_implemented(self, frame, other):
    return frame.values.const(NotImplemented)


def _getattribute(self, frame, name):
    return attributes.load_plainly(frame, self, attributes.name_given(frame, name, object.__getattribute__))


def _str(self, frame):
    return self.special(frame, "__repr__").call(frame, [], {})


def _format(self, frame, spec):
    if not issubclass(spec.python_type(), str):
        raise frame.ops.refused(frame, object().__format__, spec)
    if spec.as_python():
        text = f"unsupported format string passed to {self.type_name()}.__format__"
        raise frame.values.error(frame, TypeError, text)
    return frame.ops.text(frame, self, str)


def _dir(self, frame):
    names = set(frame.world.names_on_class(self.python_type()))
    if frame.world.has_dict(self.python_type()):
        names.update(storage_of(frame, self).names(frame))
    return frame.values.list_([frame.values.const(n) for n in names])


OBJECT_METHODS = {
    "__init__": _init,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getattribute__": _getattribute,
    "__eq__": _eq,
    "__ne__": _ne,
    "__lt__": _not_implemented,
    "__le__": _not_implemented,
    "__gt__": _not_implemented,
    "__ge__": _not_implemented,
    "__str__": _str,
    "__format__": _format,
    "__dir__": _dir,
}

__all__ = ["C_METHODS", "MEMBERS", "NativeMethod", "ObjectVariable"]
