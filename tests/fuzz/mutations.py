"""What may change in the world between two calls: for each object that a program can see, the changes that it may notice.

A mutation is (key, do): `do()` changes the world and answers how to change it back.
"""

from __future__ import annotations

import collections
import copy
import functools
import types
from collections.abc import Callable, Iterator

import weft
from tests.fuzz.slots import Walk, codes, is_library, is_private, of_program

Do = Callable[[], Callable[[], None]]
HOOKS = {
    "__bool__": lambda self: False,
    "__len__": lambda self: 2,
    "__eq__": lambda self, other: True,
    "__ne__": lambda self, other: True,
    "__hash__": lambda self: hash(type(self).__name__) ^ 1 << 60,  # (of new objects, too, the same each time)
    "__add__": lambda self, other: 40,
    "__radd__": lambda self, other: 41,
    "__mul__": lambda self, other: 42,
    "__rmul__": lambda self, other: 43,
    "__lt__": lambda self, other: True,
    "__call__": lambda self, *a, **k: 44,
    "__iter__": lambda self: iter([1, 2]),
    "__contains__": lambda self, item: True,
    "__getitem__": lambda self, key: 45,
    "__getattr__": lambda self, name: 46,
    "__enter__": lambda self: 47,
    "__str__": lambda self: "text",
    "__repr__": lambda self: "shown",
    "__float__": lambda self: 4.5,
    "__index__": lambda self: 1,
    "__get__": lambda self, obj, cls=None: 48,
    "__missing__": lambda self, key: 49,
}


def setattr_doubled(self, name, value):
    object.__setattr__(self, name, doubled(value))


def getattribute_doubled(self, name):
    return doubled(object.__getattribute__(self, name))


HOOKS_ON_OBJECT = {"__setattr__": setattr_doubled, "__getattribute__": getattribute_doubled}


def doubled(r):
    """Another value of the kind of r."""
    if isinstance(r, bool):
        return not r
    if isinstance(r, (int, float, weft.Tensor)):
        return r * 2
    if type(r) is str:
        return r + "_"
    return r


def patched(f):
    """f, with another result."""

    @functools.wraps(f)
    def patch(*args, **kwargs):
        return doubled(f(*args, **kwargs))

    return patch


def bumped(code: types.CodeType) -> types.CodeType | None:
    """Code with other numbers in it, or None if it has none."""
    consts = tuple(
        c + 1 if type(c) in (int, float) else bumped(c) or c if isinstance(c, types.CodeType) else c for c in code.co_consts
    )
    return code.replace(co_consts=consts) if consts != code.co_consts else None


OFFERED: list[type] = []  # classes made as changes, which a base tells of (`__subclasses__`) until they are collected


def subclass(cls: type, names: set[str]) -> type | None:
    """A class below cls where what cls gives is another value."""
    body: dict = {}
    for name in sorted(names):
        found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)
        if isinstance(found, types.FunctionType):
            body[name] = patched(found)
        elif type(found) in (int, float, str, bool):
            body[name] = doubled(found)
    try:
        OFFERED.append(type(cls)(cls.__name__, (cls,), body))
    except TypeError:
        return None
    return OFFERED[-1]


def variants(value) -> Iterator[tuple[str, object]]:
    """Other values that may stand where `value` stood."""
    kind = type(value)
    if kind is bool:
        yield from [("not", not value), ("int", int(value)), ("none", None)]
    elif kind is int:
        yield from [("+1", value + 1), ("neg", -value), ("float", float(value)), ("big", 2**70), ("zero", 0), ("bool", bool(value))]
    elif kind is float:
        yield from [("+1", value + 1), ("nan", float("nan")), ("neg", -value), ("int", int(value) if abs(value) < 1e9 else 1)]
    elif kind is str:
        yield from [("+_", value + "_"), ("empty", "")]
    elif value is None:
        yield from [("3", 3), ("text", "t")]
    elif isinstance(value, weft.Tensor):
        yield from tensors(value)
    elif isinstance(value, types.FunctionType):
        yield "patched", patched(value)
        if (code := bumped(value.__code__)) is not None:
            yield "other code", remade(value, code)
        yield "same again", remade(value, value.__code__)
    elif isinstance(value, types.BuiltinFunctionType):
        yield "patched", patched(value)
    elif isinstance(value, (property, classmethod, staticmethod, functools.cached_property)):
        yield from descriptors(value)
    elif isinstance(value, type):
        if of_program(value) and (sub := subclass(value, {n for n in vars(value) if not n.startswith("__")})) is not None:
            yield "subclass", sub
    elif kind in (list, tuple, set, dict, collections.deque, frozenset):
        yield from containers(value)
    elif isinstance(value, types.ModuleType):
        return
    elif not is_library(kind.__module__):
        yield from [("copy", copied(value)), ("none", None)]


def tensors(t: weft.Tensor):
    with weft.no_grad():
        base = t.detach().clone()
        yield "tensor +1", (base + 1 if base.dtype != weft.bool else ~base).requires_grad_(t.requires_grad)
        yield "tensor longer", weft.cat([base.reshape(-1), base.reshape(-1)])
        if base.dtype.is_floating_point:
            yield "tensor double", base.double()
            yield "tensor int", base.long()
            yield "tensor grad", base.clone().requires_grad_(not t.requires_grad)
        if base.dim() >= 2:
            yield "tensor strided", base.t().clone().t() if base.dim() == 2 else base.transpose(0, 1).clone().transpose(0, 1)
        yield "tensor scalar", base.reshape(-1)[:1].reshape(()) if base.numel() else base
    yield "number", 2.5


def remade(f: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    new = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    new.__kwdefaults__ = f.__kwdefaults__
    new.__dict__.update(f.__dict__)
    new.__qualname__ = f.__qualname__
    return new


def descriptors(value):
    if isinstance(value, property) and isinstance(value.fget, types.FunctionType):
        yield "getter", property(patched(value.fget), value.fset, value.fdel)
        if value.fset is not None:
            yield "setter", property(value.fget, lambda self, v, fset=value.fset: fset(self, doubled(v)), value.fdel)
        yield "no longer a property", 7
    elif isinstance(value, (classmethod, staticmethod)) and isinstance(value.__func__, types.FunctionType):
        yield "patched", type(value)(patched(value.__func__))
        yield "plain function", value.__func__


def containers(value):
    kind = type(value)
    yield "copied", kind(value)
    items = list(value.items()) if kind is dict else list(value)
    if kind in (set, frozenset):
        items.sort(key=repr)
        if any(" at 0x" in repr(item) for item in items):  # (which is the last depends on where they lie)
            items = []
    yield "emptied", kind()
    if items:
        yield "shorter", kind(items[:-1])
        if kind is not dict:
            yield "longer", kind([*items, *({doubled(items[0])} if kind in (set, frozenset) else items[:1])])
        yield "reversed", kind(reversed(items))
    elif kind is not dict:
        yield "longer", kind([7])


def copied(value):
    try:
        return copy.copy(value)
    except Exception:  # (what refuses to be copied is left where it is)
        return value


class Place:
    """A place that holds a value: an item, an attribute, a cell."""

    def __init__(self, get, set_, delete=None, order: dict | None = None, key=None):
        self.get, self.set, self.delete = get, set_, delete
        self.order, self.key = order, key

    def put(self, value) -> Callable[[], None]:
        old = self.get()
        self.set(value)
        return lambda: self.set(old)

    def remove(self) -> Callable[[], None]:
        old, behind = self.get(), self.behind()
        self.delete()

        def put_back():
            self.set(old)
            for key in behind:
                if key in self.order:
                    self.order[key] = self.order.pop(key)

        return put_back

    def behind(self) -> list:
        """The keys behind the one that goes: an undone change leaves the order as it was."""
        keys = [] if self.order is None else list(self.order)
        return keys[keys.index(self.key) + 1 :] if self.key in keys else []


def item(container, key) -> Place:
    order = container if type(container) is dict else None
    return Place(lambda: container[key], lambda v: container.__setitem__(key, v), lambda: container.__delitem__(key), order, key)


def attribute(obj, name) -> Place:
    order = None if isinstance(obj, type) else vars(obj)  # (that of a class cannot be restored: who walks over it sorts it)
    return Place(lambda: vars(obj)[name], lambda v: setattr(obj, name, v), lambda: delattr(obj, name), order, name)


def changes(path: str, place: Place, delete: bool = True) -> Iterator[tuple[str, Do]]:
    """The mutations of a place. Values are made when they are put there."""
    for label, _ in variants(place.get()):
        yield f"{path} = {label}", lambda label=label: place.put(dict(variants(place.get())).get(label))
    if delete and place.delete is not None:
        yield f"del {path}", place.remove


def added(obj, name: str, value) -> Do:
    """A mutation that gives obj an attribute of its own."""

    def do():
        own = vars(obj)
        if name in own:
            return attribute(obj, name).put(value)
        setattr(obj, name, value)
        return lambda: delattr(obj, name)

    return do


# ------------------------------------------------------------------------------------------------ kinds of object
def of_function(path: str, f: types.FunctionType, names: set[str]):
    if not of_program(f):
        return
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
        try:
            cell.cell_contents  # noqa: B018 (an empty cell has nothing to change)
        except ValueError:
            continue
        place = Place(
            lambda c=cell: c.cell_contents,
            lambda v, c=cell: setattr(c, "cell_contents", v),
            lambda c=cell: delattr(c, "cell_contents"),
        )
        yield from changes(f"{path}<{name}>", place)
    mine = {n for c in codes(f.__code__) for n in c.co_names}
    for name in sorted(mine & set(f.__globals__)):
        if not name.startswith("__"):
            yield from changes(f"{path}:{name}", item(f.__globals__, name))
    if (code := bumped(f.__code__)) is not None:
        yield f"{path}.__code__", lambda: Place(lambda: f.__code__, lambda c: setattr(f, "__code__", c)).put(code)
    for i, value in enumerate(f.__defaults__ or ()):
        for label, other in variants(value):
            new = (*f.__defaults__[:i], other, *f.__defaults__[i + 1 :])
            yield (
                f"{path}(={i}) = {label}",
                lambda new=new: Place(lambda: f.__defaults__, lambda d: setattr(f, "__defaults__", d)).put(new),
            )
    if f.__defaults__:
        yield f"{path}() without defaults", lambda: Place(lambda: f.__defaults__, lambda d: setattr(f, "__defaults__", d)).put(None)
    for key in f.__kwdefaults__ or {}:
        yield from changes(f"{path}(={key})", item(f.__kwdefaults__, key))
    yield from own_attributes(path, f, names)


def own_attributes(path: str, obj, names: set[str]):
    for name in [n for n in vars(obj) if isinstance(n, str) and (n in names or len(vars(obj)) < 8)]:
        if not is_private(obj, name):
            yield from changes(f"{path}.{name}", attribute(obj, name))


def of_instance(path: str, obj, names: set[str]):
    cls = type(obj)
    of_library = isinstance(obj, (property, functools.cached_property)) and not of_program(cls)
    if of_library:  # what such a descriptor keeps is nobody's to change
        return
    if isinstance(getattr(obj, "__dict__", None), dict):
        yield from own_attributes(path, obj, names)
        for name in sorted(names - set(vars(obj))):
            if is_private(obj, name):
                continue
            found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)
            new = patched(found).__get__(obj) if isinstance(found, types.FunctionType) else 7
            if found is not None or hasattr(cls, "__getattr__") or of_program(cls):
                yield f"{path}.{name} added", added(obj, name, new)
    for name in [n for c in cls.__mro__ for n in c.__dict__ if type(c.__dict__[n]) is types.MemberDescriptorType and of_program(c)]:
        if hasattr(obj, name):
            place = Place(lambda n=name: getattr(obj, n), lambda v, n=name: setattr(obj, n, v), lambda n=name: delattr(obj, n))
            yield from changes(f"{path}.{name}", place)
    if of_program(cls) and not isinstance(obj, types.FunctionType):
        yield f"{path}.__class__", lambda: reclass(obj, names)
        for hook in ("__getattr__", "__eq__", "__bool__", "__len__"):
            yield f"{path}.__class__ with {hook}", lambda hook=hook: reclass(obj, set(), {hook: HOOKS[hook]})


def reclass(obj, names: set[str], body: dict | None = None):
    old = type(obj)
    new = type(old)(old.__name__, (old,), body) if body else subclass(old, names)
    if new is None:
        return lambda: None
    obj.__class__ = new
    return lambda: setattr(obj, "__class__", old)


def of_class(path: str, cls: type, names: set[str]):
    if not of_program(cls):
        if issubclass(cls, weft.nn.Module) and "forward" in vars(cls) and cls is not weft.nn.Module:
            yield from changes(f"{path}.forward", attribute(cls, "forward"), delete=False)
        return
    for name in sorted(vars(cls)):
        if name in names or isinstance(vars(cls)[name], (types.FunctionType, property, classmethod, staticmethod)):
            by_address = name == "__hash__" and super(cls, cls).__hash__ is object.__hash__  # (a new object may lie where one lay)
            yield from changes(f"{path}.{name}", attribute(cls, name), delete=not by_address)
    for name in sorted(names - set(vars(cls))):
        found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)
        new = patched(found) if isinstance(found, types.FunctionType) else doubled(found) if found is not None else 7
        if isinstance(new, (types.FunctionType, int, float, str)):
            yield f"{path}.{name} added", added(cls, name, new)
    for name, hook in HOOKS.items():
        if name not in vars(cls):
            yield f"{path}.{name} added", added(cls, name, hook)
    if not any(issubclass(cls, b) for b in (dict, list, int, str, type, BaseException, weft.nn.Module)):
        for name, hook in HOOKS_ON_OBJECT.items():
            yield f"{path}.{name} added", added(cls, name, hook)


def of_module(path: str, module: types.ModuleType, names: set[str]):
    if module.__name__ in ("builtins", "sys", "warnings", "gc"):
        return
    for name in sorted(names & set(vars(module))):
        yield from changes(f"{path}.{name}", attribute(module, name), delete=False)


def of_dict(path: str, d: dict, names: set[str]):
    for i, key in enumerate(list(d)):
        text = repr(key) if isinstance(key, (str, int)) else f"#{i}"
        order = d if type(d) is dict else None
        place = Place(lambda k=key: d[k], lambda v, k=key: d.__setitem__(k, v), lambda k=key: d.pop(k), order, key)
        yield from changes(f"{path}[{text}]", place)
    yield from whole(path, d, lambda new: (d.clear(), d.update(new)), dict(d))
    for name in sorted(names)[:20]:
        if name not in d and isinstance(next(iter(d), ""), str):
            yield f"{path}[{name!r}] added", lambda name=name: (d.__setitem__(name, 7), lambda: d.pop(name, None))[1]


def of_list(path: str, items: list, names: set[str]):
    for i in range(min(len(items), 6)):
        yield from changes(f"{path}[{i}]", item(items, i), delete=False)
    yield from whole(path, items, lambda new: items.__setitem__(slice(None), new), list(items))


def of_set(path: str, s: set, names: set[str]):
    yield f"{path}.add", lambda: (s.add("added"), lambda: s.discard("added"))[1]
    yield from whole(path, s, lambda new: (s.clear(), s.update(new)), set(s))


def of_deque(path: str, d: collections.deque, names: set[str]):
    yield from whole(path, d, lambda new: (d.clear(), d.extend(new)), collections.deque(d))


def whole(path: str, value, refill, kept):
    """A container filled anew, the object itself staying."""

    def do(label):
        refill(dict(containers(kept)).get(label, kept))
        return lambda: refill(kept)

    for label, _ in containers(kept):
        if label != "copied":
            yield f"{path} {label} in place", lambda label=label: do(label)


def of_tensor(path: str, t: weft.Tensor, names: set[str]):
    def data(make):
        def do():
            old = t.data
            t.data = make(old)
            return lambda: setattr(t, "data", old)

        return do

    yield f"{path}.data longer", data(lambda old: weft.cat([old.reshape(-1), old.reshape(-1)]))
    yield f"{path}.data +1", data(lambda old: old + 1)
    if t.is_leaf and t.dtype.is_floating_point:
        yield (
            f"{path}.requires_grad",
            lambda: (t.requires_grad_(not t.requires_grad), lambda: t.requires_grad_(not t.requires_grad))[1],
        )
    if "tag" in names or "name" in names:
        yield f"{path}.tag added", added(t, "tag", 5)


def of(path: str, obj, names: set[str]) -> Iterator[tuple[str, Do]]:
    """The mutations of one object."""
    rules = [
        (types.FunctionType, of_function), (type, of_class), (types.ModuleType, of_module), (dict, of_dict), (list, of_list),
        (set, of_set), (collections.deque, of_deque), (weft.Tensor, of_tensor),
    ]  # fmt: skip
    for kind, rule in rules:
        if isinstance(obj, kind):
            yield from rule(path, obj, names)
            if kind in (types.FunctionType, type, types.ModuleType, weft.Tensor) or type(obj) is kind:
                return
    if not isinstance(obj, (types.MethodType, types.BuiltinFunctionType)) and type(obj).__module__ != "builtins":
        yield from of_instance(path, obj, names)


def ambient() -> Iterator[tuple[str, Do]]:
    """Flags that every program can see."""

    def grad():
        old = weft.is_grad_enabled()
        weft.set_grad_enabled(not old)
        return lambda: weft.set_grad_enabled(old)

    def dtype():
        old = weft.get_default_dtype()
        weft.set_default_dtype(weft.float64 if old == weft.float32 else weft.float32)
        return lambda: weft.set_default_dtype(old)

    def threads():
        old = weft.get_num_threads()
        weft.set_num_threads(old + 1)
        return lambda: weft.set_num_threads(old)

    yield from [("grad mode", grad), ("default dtype", dtype), ("threads", threads)]


def arguments(args: list) -> Iterator[tuple[str, Do]]:
    """Other arguments, and one object for two of them."""
    for i in range(len(args)):
        yield from changes(f"argument {i}", item(args, i), delete=False)
        for j in range(len(args)):
            if i != j and type(args[i]) is type(args[j]) and args[i] is not args[j]:
                yield f"argument {i} is argument {j}", lambda i=i, j=j: item(args, i).put(args[j])


def all_of(function, args: list, names: set[str] = frozenset()) -> dict[str, Do]:
    """Every mutation of what function(*args) can see, by key; `names`: more that it may look up."""
    walk = Walk([("f", function), *((f"argument {i}", a) for i, a in enumerate(args))], names)
    found = dict(ambient())
    found.update(arguments(args))
    for path, obj in walk.nodes.items():
        for key, do in of(path, obj, walk.names):
            found.setdefault(key, do)
    return found
