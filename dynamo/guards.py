"""Kinds of guard, as data: what each checks, how it explains itself, its instruction in the native program.

    TypeIs = kind("TYPE_IS", "source type", check=..., failed=...)
    guard  = TypeIs(Local("x"), Tensor)

A `Guard` is hashable: adding it twice is harmless. `GuardSet` keeps them in the order in which they were found.
`check` is the meaning, in Python: the native program (eval_frame/) must agree, and a test holds the two equal.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import _eval_frame
from .held import ABSENT, Loose
from .real_objects import full_name
from .source import Scope, Source, keys_of

UNREADABLE = (KeyError, AttributeError, IndexError, ValueError, TypeError)  # what reading a changed expression raises


class Kind:
    """A kind of guard. Calling it makes a Guard: the first field is its source, the rest are compared values.

    check(guard, value of the source) -> bool and failed(guard, value) -> str; the kinds that read more than one source
    take the Scope as a third argument (`scoped`). `objects`: the compared values are objects, held by identity.
    """

    __slots__ = ("name", "fields", "places", "check", "failed", "scoped", "objects", "count")

    def __init__(
        self,
        name: str,
        fields: str,
        check: Callable[..., bool],
        failed: Callable[..., str],
        scoped: bool = False,
        objects: bool = False,
    ):
        self.name = name
        self.fields = fields.split()
        self.places = {field: i for i, field in enumerate(self.fields[1:])}
        self.check = check
        self.failed = failed
        self.scoped = scoped
        self.objects = objects
        self.count = len(self.fields) - 1

    def __call__(self, source: Any, *values: Any, line: Any = None) -> Guard:
        """`line` is the UserLine that made the guard necessary, told when it fails."""
        if len(values) != self.count:
            raise TypeError(f"{self.name} takes {', '.join(self.fields)}")
        return Guard(self, source, values, line)

    def __repr__(self):
        return self.name


class Guard(_eval_frame.Hashed):
    __slots__ = ("kind", "source", "values", "line", "is_loose")

    def __init__(self, kind: Kind, source: Any, values: tuple, line: Any):
        self.kind = kind
        self.source = source
        self.values = values
        self.line = line
        self.is_loose = False
        self._hash = hash((kind.name, source, *map(_hashed, values)))

    __hash__ = _eval_frame.Hashed.__hash__

    def __eq__(self, other):
        if type(other) is not Guard or self._hash != other._hash or self.kind is not other.kind or self.source != other.source:
            return False
        for a, b in zip(self.values, other.values):
            if a is not b and _identity(a) != _identity(b):
                return False
        return True

    def __getattr__(self, name: str) -> Any:
        at = self.kind.places.get(name)
        if at is None:
            raise AttributeError(name)
        value = self.values[at]
        return value() if type(value) is Loose else value

    def __str__(self):
        shown = ", ".join(_show(v() if type(v) is Loose else v) for v in self.values)
        source = ", ".join(map(str, self.source)) if isinstance(self.source, tuple) else self.source
        return f"{self.kind.name}({source}{', ' + shown if shown else ''})"

    __repr__ = __str__

    def loosen(self) -> None:
        """Keep nothing alive from now on: the entry that the guard belongs to dies with what is guarded."""
        if self.is_loose:
            return
        self.is_loose = True
        if self.kind.objects:
            self.values = tuple([v if type(v) is str else Loose.of(v) for v in self.values])
        one = not self.kind.scoped and isinstance(self.source, Source)  # the only one that it reads
        for source in (self.source,) if one else self.sources():
            if not source.is_loose:
                source.loosen()

    def sources(self) -> Iterable[Source]:
        """Every source that the guard reads."""
        if isinstance(self.source, tuple):
            yield from self.source
        elif self.source is not None:
            yield self.source
        for value in self.values:
            if issubclass(type(value), Source):
                yield value
            elif issubclass(type(value), Shape):
                yield from value.symbols.values()

    def holds(self, scope: Scope) -> bool:
        """Whether the guard passes now; a source that cannot be read is a failure."""
        try:
            value = self._read(scope)
            return self.kind.check(self, value, scope) if self.kind.scoped else self.kind.check(self, value)
        except UNREADABLE:
            return False

    def why_failed(self, scope: Scope) -> str:
        """One sentence on the value found, in the user's expressions."""
        try:
            sentence = self.kind.failed(self, self._read(scope))
        except UNREADABLE as missing:
            sentence = f"{self.source} cannot be read any more ({type(missing).__name__}: {missing})"
        return f"{sentence} ({self.line})" if self.line is not None else sentence

    def _read(self, scope: Scope) -> Any:
        if self.source is None:
            return None
        if isinstance(self.source, tuple):
            return tuple(s.get(scope) for s in self.source)
        return self.source.get(scope)


class GuardSet:
    """Guards in the order found, each once."""

    def __init__(self, guards: Iterable[Guard] = ()):
        self._guards = dict.fromkeys(guards)

    def add(self, guard: Guard) -> None:
        self._guards.setdefault(guard)

    def update(self, guards: Iterable[Guard]) -> None:
        for guard in guards:
            self._guards.setdefault(guard)

    def __iter__(self) -> Iterator[Guard]:
        return iter(self._guards)

    def __len__(self) -> int:
        return len(self._guards)

    def __contains__(self, guard: Guard) -> bool:
        return guard in self._guards

    def __str__(self):
        return "\n".join(map(str, self))


def same_constant(a: Any, b: Any) -> bool:
    """Equal as constants: same type and value; floats by their bits, so -0.0 is not 0.0 and nan is nan."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return struct.pack("d", a) == struct.pack("d", b)
    if type(a) is complex:
        return same_constant(a.real, b.real) and same_constant(a.imag, b.imag)
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(map(same_constant, a, b))
    return bool(a == b)


BY_VALUE = frozenset(map(id, (int, bool, str, bytes, type(None))))


def _identity(value: Any) -> Any:
    """What makes two compared values the same in a guard."""
    if type(value) is Loose:
        value = value()
    if id(type(value)) in BY_VALUE or issubclass(type(value), Source):  # (others may hear that)
        return (type(value), value)
    if type(value) is tuple:
        return tuple(_identity(v) for v in value)
    if type(value) is float:
        return ("float", struct.pack("d", value))
    return id(value)


def _hashed(value: Any) -> Any:
    """What a guard's hash is made of for a compared value: the same for values that are the same in a guard."""
    t = type(value)
    if t is str or t is int or t is bool or value is None:
        return value
    if t is tuple:  # (the first ones tell most apart, and `==` the others)
        return (len(value), *map(_hashed, value[:3]))
    return _identity(value)


def _show(value: Any) -> str:
    text = getattr(value, "__qualname__", None) if issubclass(type(value), type) or callable(value) else None
    text = text or repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# ---------------------------------------------------------------------------------- Python objects
TypeIs = Kind(
    "TYPE_IS", "source type",
    check=lambda g, x: type(x) is g.type,
    failed=lambda g, x: f"{g.source} is a {full_name(type(x))}, compiled for {full_name(g.type)}",
    objects=True,
)
IdIs = Kind(
    "ID_IS", "source object",
    check=lambda g, x: x is g.object,
    failed=lambda g, x: f"{g.source} is {_show(x)}, compiled for the object {_show(g.object)}",
    objects=True,
)
Equals = Kind(  # int, bool, float, complex, str, bytes, None and tuples of these, with their types
    "EQUALS", "source constant",
    check=lambda g, x: same_constant(x, g.constant),
    failed=lambda g, x: f"{g.source} is {_show(x)}, compiled for {_show(g.constant)}",
)
LengthIs = Kind(  # of a list, tuple, dict, set, str or range, whose type is guarded
    "LENGTH", "source length",
    check=lambda g, x: _length(x) == g.length,
    failed=lambda g, x: f"len({g.source}) is {_length(x)}, compiled for {g.length}",
)
DictKeysAre = Kind(  # in order
    "DICT_KEYS", "source keys",
    check=lambda g, x: _same_keys(tuple(keys_of(x)), g.keys),
    failed=lambda g, x: f"the keys of {g.source} are {_show(list(keys_of(x)))}, compiled for {_show(list(g.keys))}",
)
LacksKey = Kind(
    "LACKS_KEY", "source key",
    check=lambda g, x: not dict.__contains__(x, g.key),
    failed=lambda g, x: f"{g.source} has a key {g.key!r} now",
)
LacksAttr = Kind(
    "LACKS_ATTR", "source attribute",
    check=lambda g, x: not hasattr(x, g.attribute),
    failed=lambda g, x: f"{g.source} has an attribute {g.attribute} now",
)
LacksInstanceAttr = Kind(  # the attribute may come from the class: the instance's own dictionary lacks it
    "LACKS_INSTANCE_ATTR", "source attribute",
    check=lambda g, x: g.attribute not in (_instance_dict(x) or ()),
    failed=lambda g, x: f"{g.source} has an attribute {g.attribute} of its own now",
)
SetIs = Kind(  # a set or frozenset of constants: these elements, which it gives in this order
    "SET", "source elements",
    check=lambda g, x: _same_keys(tuple(set.__iter__(x) if isinstance(x, set) else frozenset.__iter__(x)), g.elements),
    failed=lambda g, x: f"{g.source} is {_show(x)}, compiled for the elements {_show(g.elements)}",
)
ClassLookupIs = Kind(  # the walk of `name` along the MRO of the class `source` meets `object` first, or ABSENT: no class has it
    "CLASS_LOOKUP", "source name object",
    check=lambda g, x: _class_lookup(x, g.name) is g.object,
    failed=lambda g, x: f"{g.source}.{g.name} is {_show(_class_lookup(x, g.name))}, compiled for {_show(g.object)}",
    objects=True,
)
_lookups: dict[tuple[str, int], Guard] = {}


def lasting_lookup(source: Source, name: str, found: Any) -> Guard:
    """The same for a class that lives as long as the interpreter: one guard, whoever looks."""
    known = _lookups.get((name, id(found)))
    if known is None or known.object is not found or known.source is not source:
        known = _lookups[name, id(found)] = ClassLookupIs(source, name, found)
        known.loosen()
    return known


ClassLookupsAre = Kind(  # the same for several names at once, of what lives as long as the interpreter (or ABSENT)
    "CLASS_LOOKUPS", "source names objects",
    check=lambda g, x: all([_class_lookup(x, name) is found for name, found in zip(g.names, g.objects)]),
    failed=lambda g, x: f"{g.source} has another {next(n for n, f in zip(g.names, g.objects) if _class_lookup(x, n) is not f)} now",
)
Inherits = Kind(  # whether `object` is in the MRO of the class `source`
    "INHERITS", "source object answer",
    check=lambda g, x: (g.object in _mro(x)) == g.answer,
    failed=lambda g, x: f"{g.source} {'no longer' if g.answer else 'now'} inherits from {_show(g.object)}",
    objects=True,
)
MroIs = Kind(  # the classes that a look-up on the class `source` asks, by their addresses: they live as long as the class
    "MRO", "source classes",
    check=lambda g, x: tuple(map(id, _mro(x))) == g.classes,
    failed=lambda g, x: f"{g.source} has other bases",
)
MakesAsObject = Kind(  # whether C makes instances of the class `source` as of object
    "MAKES", "source answer",
    check=lambda g, x: _eval_frame.makes_as_object(x) == g.answer,
    failed=lambda g, x: f"{g.source} makes its instances {'otherwise than' if g.answer else 'as'} object does now",
)
LacksGlobal = Kind(  # a name that the globals lack (so that the builtin is meant); source is None
    "LACKS_GLOBAL", "source name",
    check=lambda g, x, scope: g.name not in scope.globals,
    failed=lambda g, x: f"{g.name} is a global now",
    scoped=True,
)
FunctionCodeIs = Kind(  # another function object of the same code passes: closures and defaults are guarded apart
    "FUNCTION_CODE", "source code",
    check=lambda g, x: getattr(x, "__code__", None) is g.code,
    failed=lambda g, x: f"{g.source} is another function ({_show(x)}), compiled for {g.code.co_qualname}",
    objects=True,
)
LacksDefaults = Kind(  # of a function: neither `__defaults__` nor `__kwdefaults__`
    "LACKS_DEFAULTS", "source",
    check=lambda g, x: x.__defaults__ is None and x.__kwdefaults__ is None,
    failed=lambda g, x: f"{g.source} has defaults now",
)
GlobalsAre = Kind(  # of a function whose code reads globals: by their id, for what is read there holds them
    "GLOBALS", "source globals",
    check=lambda g, x: id(getattr(x, "__globals__", None)) == g.globals,
    failed=lambda g, x: f"{g.source} is a function of another module ({_show(x)})",
)
SameObject = Kind(
    "SAME_OBJECT", "source other",
    check=lambda g, x, scope: x is g.other.get(scope),
    failed=lambda g, x: f"{g.source} and {g.other} are different objects, compiled for one object",
    scoped=True,
)
Distinct = Kind(  # source is a tuple of sources: no two are one object
    "DISTINCT", "source",
    check=lambda g, x: len({id(v) for v in x}) == len(x),
    failed=lambda g, x: f"{_first_pair(g, x, lambda a, b: a is b)} are the same object, compiled for different ones",
)


def _mro(cls: type) -> tuple[type, ...]:
    return type.__dict__["__mro__"].__get__(cls)  # type: ignore[attr-defined]


def _class_lookup(cls: type, name: str) -> Any:
    for c in _mro(cls):
        members = type.__dict__["__dict__"].__get__(c)  # type: ignore[attr-defined]
        if name in members:
            return members[name]
    return ABSENT


def _length(x: Any) -> int:
    """len(x), past whatever a subclass of a builtin container overrides."""
    base = next((b for b in (list, tuple, dict, set, frozenset) if isinstance(x, b)), type(x))
    return base.__len__(x)


def _same_keys(found: tuple, keys: tuple) -> bool:
    return len(found) == len(keys) and all(map(same_constant, found, keys))


def _instance_dict(x: Any) -> dict | None:
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None


def _first_pair(g: Guard, values: tuple, test: Callable[[Any, Any], bool]) -> str:
    for j, b in enumerate(values):
        for i, a in enumerate(values[:j]):
            if test(a, b):
                return f"{g.source[i]} and {g.source[j]}"
    return " and ".join(map(str, g.source))


# ----------------------------------------------------------------------------------------- tensors
class Layout:
    """What a TENSOR guard compares. Entries of `sizes` and `strides` may be None: not compared (symbolic).

    `contiguous` None does not compare; True asks for row-major without gaps, whatever the sizes; False for not that.
    `inference` None does not compare, or whether it was made under inference_mode (which matters where gradients are recorded).
    """

    __slots__ = ("cls", "dtype", "device", "requires_grad", "sizes", "strides", "contiguous", "inference")

    def __init__(self, cls, dtype, device, requires_grad, sizes, strides, contiguous=None, inference=None):
        self.cls = cls
        self.dtype = dtype
        self.device = device
        self.requires_grad = requires_grad
        self.sizes = tuple(sizes)
        self.strides = tuple(strides)
        self.contiguous = contiguous
        self.inference = inference

    @staticmethod
    def of(tensor: Any, dynamic: Iterable[int] = (), derived: Iterable[int] = (), inference: bool | None = None) -> Layout:
        """The layout of `tensor`, with the dims of `dynamic` not compared.

        With a dynamic dim, a contiguous tensor must stay contiguous and no stride is compared; of another tensor all
        strides are compared but those of `derived` dims, which are symbols, or derived from sizes by other guards.
        """
        dynamic = frozenset(dynamic)
        sizes = [None if d in dynamic else n for d, n in enumerate(tensor.shape)]
        strides: list = list(tensor.stride())
        contiguous = None
        derived = tuple(derived)
        if dynamic or derived:
            contiguous = tensor.is_contiguous()
            derived = range(len(strides)) if contiguous else derived
        for d in derived:
            strides[d] = None
        return Layout(type(tensor), tensor.dtype, tensor.device, tensor.requires_grad, sizes, strides, contiguous, inference)

    def _key(self):
        where = (id(self.cls), self.dtype, str(self.device), self.requires_grad)
        return (*where, self.sizes, self.strides, self.contiguous, self.inference)

    def __hash__(self):
        return hash(self._key())

    def __eq__(self, other):
        return type(other) is Layout and self._key() == other._key()

    def __repr__(self):
        sizes = ", ".join("?" if n is None else str(n) for n in self.sizes)
        strides = ", ".join("?" if n is None else str(n) for n in self.strides)
        grad = ", requires_grad" if self.requires_grad else ""
        layout = {None: "", True: ", contiguous", False: ", not contiguous"}[self.contiguous]
        return f"{self.cls.__name__} {self.dtype} {self.device} sizes [{sizes}] strides [{strides}]{grad}{layout}"

    def difference(self, x: Any) -> tuple[str, Any, Any] | None:
        """(what, found, compiled for) of the first difference, or None."""
        if type(x) is not self.cls:
            return "type", full_name(type(x)), full_name(self.cls)
        for what in ("dtype", "device", "requires_grad"):
            found, wanted = getattr(x, what), getattr(self, what)
            if found != wanted:
                return what, found, wanted
        if self.inference is not None and x.is_inference() != self.inference:
            return "is_inference()", x.is_inference(), self.inference
        if len(x.shape) != len(self.sizes):
            return "ndim", len(x.shape), len(self.sizes)
        for d, (found, wanted) in enumerate(zip(x.shape, self.sizes)):
            if wanted is not None and found != wanted:
                return f"shape[{d}]", found, wanted
        for d, (found, wanted) in enumerate(zip(x.stride(), self.strides)):
            if wanted is not None and found != wanted:
                return f"stride({d})", found, wanted
        if self.contiguous is not None and x.is_contiguous() != self.contiguous:
            return "is_contiguous()", x.is_contiguous(), self.contiguous
        return None


def _tensor_failed(g: Guard, x: Any) -> str:
    difference = g.layout.difference(x)
    if difference is None:
        return f"{g.source} changed"
    what, found, wanted = difference
    if what == "type":
        return f"{g.source} is a {found}, compiled for {wanted}"
    return f"{g.source}.{what} is {found}, compiled for {wanted}"


TensorIs = Kind(
    "TENSOR", "source layout",
    check=lambda g, x: g.layout.difference(x) is None,
    failed=_tensor_failed,
)
Disjoint = Kind(  # source is a tuple of tensors' sources: the first `written` of them overlap no other one in memory
    "DISJOINT", "source written",
    check=lambda g, x: _disjoint(x, g.written),
    failed=lambda g, x: f"{_first_pair(g, x, _overlap)} share memory and one is written, compiled for separate memory",
)


Overlap = Kind(  # the opposite: for entries that leave such calls to Python
    "OVERLAP", "source written",
    check=lambda g, x: not _disjoint(x, g.written),
    failed=lambda g, x: f"no two of {', '.join(map(str, g.source))} share memory and are written, left to Python where they do",
)


def _disjoint(tensors: tuple, written: int) -> bool:
    """Whether none of the first `written` tensors overlaps another: they are met in the order of their addresses."""
    spans = sorted((*_span(t), k < written) for k, t in enumerate(tensors) if t.numel())
    any_end = written_end = 0
    for start, end, is_written in spans:
        if start < written_end or (is_written and start < any_end):
            return False
        any_end = max(any_end, end)
        if is_written:
            written_end = max(written_end, end)
    return True


def _overlap(a: Any, b: Any) -> bool:
    """Whether the ranges of bytes that two tensors span meet (conservative for strided ones)."""
    if a.numel() == 0 or b.numel() == 0:
        return False
    (a0, a1), (b0, b1) = _span(a), _span(b)
    return a0 < b1 and b0 < a1


def _span(t: Any) -> tuple[int, int]:
    low = high = 0
    for n, s in zip(t.shape, t.stride()):
        low += min((n - 1) * s, 0)
        high += max((n - 1) * s, 0)
    start = t.data_ptr()
    return start + low * t.dtype.itemsize, start + (high + 1) * t.dtype.itemsize


# ------------------------------------------------------------------------------------ state, sizes
def _ambient() -> int:
    return _eval_frame.ambient()


AmbientIs = Kind(  # this thread's ambient word (weft.h), under a mask; source is None
    "AMBIENT", "source word mask",
    check=lambda g, x: (_ambient() & g.mask) == g.word & g.mask,
    failed=lambda g, x: "grad mode, autocast, default dtype, default device or another global setting changed",
)
# What an ambient flag is called, and its bits in the ambient word (weft.h).
AMBIENT_FLAGS = {
    "grad": 1, "inference": 1 << 1, "deterministic": 1 << 2, "matmul_precision": 3 << 3,
    "autocast_cpu": 1 << 5, "autocast_cuda": 1 << 6, "default_dtype": 0xFF << 8, "autocast_dtype": 0xFF << 16,
    "levels": 0xFF << 24, "modes": 0xFF << 32, "autocast_cuda_dtype": 0xFF << 40,
    "default_device": 0xFFFF << 48,
}  # fmt: skip

INFERENCE = AMBIENT_FLAGS["inference"]


def flag(name: str) -> int:
    """The state of an ambient flag now, as a number: a name of AMBIENT_FLAGS, or "num_threads"."""
    if name == "num_threads":
        return _eval_frame.num_threads()
    return _eval_frame.ambient() & AMBIENT_FLAGS[name]


FlagIs = Kind(  # one flag of the ambient state: FlagIs(None, name, flag(name)); wanted also where there is no graph
    "FLAG", "source name state",
    check=lambda g, x: flag(g.name) == g.state,
    failed=lambda g, x: f"{g.name} is {flag(g.name):#x}, compiled for {g.state:#x}",
)


class Shape:
    """A condition on sizes: a bool `Expr` (aten.symbolic) and where each of its symbols is read.

    symbols: name -> Source (Size, Stride, Offset, or any source of an int or float).
    """

    __slots__ = ("expr", "symbols")

    def __init__(self, expr: Any, symbols: dict):
        self.expr = expr
        self.symbols = symbols

    def __hash__(self):
        return hash(str(self.expr))

    def __eq__(self, other):
        return type(other) is Shape and str(self.expr) == str(other.expr) and self.symbols == other.symbols

    def __repr__(self):
        return self.text({name: str(source) for name, source in self.symbols.items()})

    def text(self, names: dict[str, str]) -> str:
        """The condition with its symbols replaced by the user's expressions."""
        import re

        return re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m.group(), m.group()), str(self.expr))

    def values(self, scope: Scope) -> dict[str, Any]:
        return {name: source.get(scope) for name, source in self.symbols.items()}


def _shape_holds(g: Guard, x: Any, scope: Scope) -> bool:
    from aten.symbolic.expr import evaluate  # heavy only for those who have symbolic sizes

    return bool(evaluate(g.shape.expr, g.shape.values(scope)))


ShapeIs = Kind(  # source is None: what it reads stands in `shape`
    "SHAPE", "source shape",
    check=_shape_holds,
    failed=lambda g, x: f"{g.shape} does not hold",
    scoped=True,
)
