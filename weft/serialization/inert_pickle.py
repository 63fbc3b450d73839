"""Pickle's opcodes walked without pickle: only functions and classes of a given table are ever called."""

from __future__ import annotations

import collections
import functools
import pickle
import pickletools
from collections.abc import Callable
from io import BytesIO
from typing import Any

from weft.serialization.bad_file import BadFile


class Refused(pickle.UnpicklingError):
    """The file asks for a function or class that is not in the table."""


class _Mark:
    pass


class Global:
    """A function or class that the file names. `call(*args)` is what happens where it is called, `build(made, state)` where
    the object that came of it is given its state."""

    __slots__ = ("name", "call", "build")

    def __init__(self, name: str, call: Callable | None, build: Callable[[Any, Any], Any] | None = None) -> None:
        self.name, self.call, self.build = name, call, build


class Walker:
    """One pickle of a stream. find(module, name) -> an object to stand for the global, a Global to call; persistent(id);
    make(what, args) -> an object of a class, or of whatever else `find` gave that is no Global."""

    def __init__(
        self,
        find: Callable[[str, str], Any],
        persistent: Callable[[Any], Any],
        make: Callable[[Any, Any], Any] | None = None,
        set_state: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self.find, self.persistent, self.make, self.set_state = find, persistent, make, set_state
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.made_by: dict[int, Global] = {}  # id of an object: what made it, for its state
        self.made: list[Any] = []

    def load(self, file: BytesIO) -> Any:
        """Raises Refused for what is not in the table, BadFile for what is no pickle."""
        try:
            for opcode, argument, _position in pickletools.genops(file):
                if opcode.name == "STOP":
                    return self.stack.pop()
                rule = _RULES.get(opcode.name)
                if rule is None:
                    raise Refused(f"Weights only load failed: the file uses the pickle opcode {opcode.name}, which is not allowed")
                rule(self, argument)
        except (Refused, BadFile):
            raise
        except RecursionError:
            raise BadFile("load: the file's pickle is nested too deeply") from None
        except Exception as error:  # whatever a file that was tampered with makes of the steps below
            raise BadFile(f"load: the file's pickle is damaged: {type(error).__name__}: {error}") from error
        raise BadFile("load: the file's pickle has no end")

    # ------------------------------------------------------------------------------------------------- steps
    def to_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while not isinstance(self.stack[at], _Mark):
            at -= 1
            if at < 0:
                raise IndexError("no mark")
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    def call(self, what: Any, args: Any) -> None:
        if self.make is not None and callable(what):  # no Global is
            what = Global(getattr(what, "__name__", "?"), functools.partial(self._made, what), self.set_state)
        if not isinstance(what, Global) or what.call is None:
            raise Refused(f"Weights only load failed: the file calls {getattr(what, 'name', what)!r}, which is not allowed")
        made = what.call(*args)
        if what.build is not None:
            self.made_by[id(made)] = what
            self.made.append(made)  # keeps its id
        self.stack.append(made)

    def _made(self, what: Any, *args: Any) -> Any:
        assert self.make is not None
        return self.make(what, args)

    def build(self) -> None:
        state = self.stack.pop()
        made = self.stack[-1]
        by = self.made_by.get(id(made))
        if by is None or by.build is None:
            if type(made).__name__ == "OrderedDict" and isinstance(state, dict):
                made.__dict__.update(state)  # a module's state dict has `_metadata`
                return
            raise Refused(f"Weights only load failed: the file sets the state of a {type(made).__name__}, which is not allowed")
        changed = by.build(made, state)
        if changed is not None:
            self.stack[-1] = changed

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise TypeError(f"items set on a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def extend(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, (list, collections.deque)):
            raise TypeError(f"items appended to a {type(target).__name__}")
        target.extend(items)

    def add(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, set):
            raise TypeError(f"items added to a {type(target).__name__}")
        target.update(items)

    def pop(self) -> Any:
        return self.stack.pop()

    def pops(self, n: int) -> list[Any]:
        items = self.stack[len(self.stack) - n :]
        if len(items) != n:
            raise IndexError("the stack is too short")
        del self.stack[len(self.stack) - n :]
        return items


def _push(w: Walker, value: Any) -> None:
    w.stack.append(value)


def _put(w: Walker, index: int) -> None:
    w.memo[index] = w.stack[-1]


def _global(w: Walker, argument: str) -> None:
    module, name = argument.split(" ", 1)
    w.stack.append(w.find(module, name))


def _stack_global(w: Walker, _: None) -> None:
    module, name = w.pops(2)
    w.stack.append(w.find(str(module), str(name)))


def _reduce(w: Walker, _: None) -> None:
    what, args = w.pops(2)
    w.call(what, args)


def _new_with_keywords(w: Walker, _: None) -> None:
    what, args, kwargs = w.pops(3)
    if kwargs:
        raise Refused("Weights only load failed: the file makes an object by keywords, which is not allowed")
    w.call(what, args)


def _tuple(n: int) -> Callable[[Walker, None], None]:
    return lambda w, _: w.stack.append(tuple(w.pops(n)))


def _constant(make: Callable[[], Any]) -> Callable[[Walker, None], None]:
    return lambda w, _: w.stack.append(make())


_RULES: dict[str, Callable[[Walker, Any], Any]] = {
    **dict.fromkeys(
        "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES "
        "BINBYTES8 BYTEARRAY8 UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8".split(),
        _push,
    ),
    **dict.fromkeys("PUT BINPUT LONG_BINPUT".split(), _put),
    **dict.fromkeys("GET BINGET LONG_BINGET".split(), lambda w, i: w.stack.append(w.memo[i])),
    "MEMOIZE": lambda w, _: _put(w, len(w.memo)),
    "PROTO": lambda w, version: None,
    "FRAME": lambda w, size: None,
    "MARK": _constant(_Mark),
    "NONE": _constant(lambda: None),
    "NEWTRUE": _constant(lambda: True),
    "NEWFALSE": _constant(lambda: False),
    "EMPTY_DICT": _constant(dict),
    "EMPTY_LIST": _constant(list),
    "EMPTY_TUPLE": _constant(tuple),
    "EMPTY_SET": _constant(set),
    "DICT": lambda w, _: _dict(w),
    "LIST": lambda w, _: w.stack.append(w.to_mark()),
    "TUPLE": lambda w, _: w.stack.append(tuple(w.to_mark())),
    "FROZENSET": lambda w, _: w.stack.append(frozenset(w.to_mark())),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "SETITEM": lambda w, _: w.set_items(w.pops(2)),
    "SETITEMS": lambda w, _: w.set_items(w.to_mark()),
    "APPEND": lambda w, _: w.extend(w.pops(1)),
    "APPENDS": lambda w, _: w.extend(w.to_mark()),
    "ADDITEMS": lambda w, _: w.add(w.to_mark()),
    "POP": lambda w, _: w.pop(),
    "POP_MARK": lambda w, _: w.to_mark(),
    "DUP": lambda w, _: w.stack.append(w.stack[-1]),
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": _reduce,
    "NEWOBJ": _reduce,
    "NEWOBJ_EX": _new_with_keywords,
    "BUILD": lambda w, _: w.build(),
    "BINPERSID": lambda w, _: w.stack.append(w.persistent(w.pop())),
}


def _dict(w: Walker) -> None:
    items = w.to_mark()
    w.stack.append({})
    w.set_items(items)
