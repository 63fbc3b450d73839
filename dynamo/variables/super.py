"""super()."""

from __future__ import annotations

from dynamo import _eval_frame
from dynamo.breaks import Raised
from dynamo.bytecode.instruction import VERSION
from dynamo.real_objects import is_among
from dynamo.variables import attributes
from dynamo.variables.attributes import bind, find
from dynamo.variables.base import Variable

NAMES_BOTH = VERSION >= (3, 13)  # whether the refusal of an object says what it is and what it should be


class SuperVariable(Variable):
    """super(cls, obj): attributes of `obj` as the classes behind `cls` in its MRO give them."""

    __slots__ = ("start", "object")

    def __init__(self, start: Variable, object: Variable):
        super().__init__()
        self.start = start
        self.object = object

    def python_type(self):
        return super

    def truth(self, frame):
        return True

    def getattr(self, frame, name):
        start = self.start.as_python()
        cls, obj = self.walked(frame, start)
        if name == "__class__":
            return frame.world.known(super)
        found = find(frame, cls, name, start)
        if found is None:
            return self.own(frame, name, cls)
        return bind(frame, found, obj, frame.world.known(cls))

    def own(self, frame, name: str, cls: type) -> Variable:
        """What no class behind it has is asked of the super object itself."""
        if name == "__thisclass__":
            return self.start
        if name == "__self__":
            return self.object
        if name == "__self_class__":
            return frame.world.known(cls)
        if frame.world.on_class(super, name) is not frame.world.MISSING:
            raise self.unsupported(f"attribute {name}")
        raise attributes.no_attribute(frame, self, name)

    def walked(self, frame, start: type) -> tuple[type, Variable | None]:
        """The class whose MRO is walked, and the object that methods are bound to (None where that is the class)."""
        obj = self.object
        if issubclass(obj.python_type(), type):
            cls = obj.as_python()
            if is_among(start, frame.world.mro(cls)):
                return cls, None
        cls = obj.python_type()
        if is_among(start, frame.world.mro(cls)):
            return cls, obj
        claimed = attributes.claimed_class(frame, obj)
        if claimed is None or not is_among(start, frame.world.mro(claimed)):
            raise self.wrong_type(frame)
        return claimed, obj

    def wrong_type(self, frame) -> Raised:
        text = "super(type, obj): obj must be an instance or subtype of type"
        if NAMES_BOTH:
            is_type = issubclass(self.object.python_type(), type)
            name = _eval_frame.type_name
            shown = f"type {name(self.object.as_python())}" if is_type else f"instance of {self.object.type_name()}"
            text = f"super(type, obj): obj ({shown}) is not an instance or subtype of type ({name(self.start.as_python())})."
        return frame.values.error(frame, TypeError, text)

    def method(self, frame, name, args, kwargs):
        return self.getattr(frame, name).call(frame, args, kwargs)
