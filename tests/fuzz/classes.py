"""Random classes for the Python fuzzer: what may derive from what, and members that work with one another."""

from __future__ import annotations

import random

BASES = [
    "", "", "", "object", "dict", "list", "tuple", "set", "str", "int", "float", "collections.deque", "collections.OrderedDict",
    "collections.defaultdict", "collections.Counter", "Exception", "ValueError", "KeyError", "Pair", "collections.UserDict",
    "types.SimpleNamespace", "contextlib.ContextDecorator", "abc.ABC", "frozenset", "bytes", "complex",
]  # fmt: skip
KINDS = ["plain"] * 9 + ["dataclass", "dataclass", "frozen", "order", "slotted", "enum", "intenum", "flag", "named", "slots", "meta", "meta"]
DATACLASSES = {
    "dataclass": "", "frozen": "(frozen=True)", "order": "(order=True)", "slotted": "(frozen=True, slots=True, order=True)",
}  # fmt: skip
ENUMS = {"enum": "enum.Enum", "intenum": "enum.IntEnum", "flag": "enum.Flag"}
VALUES = ["1", "2.5", "'a'", "[1, 2]", "{'a': 1}", "(1, 2)", "None", "True", "weft.ones(2)"]

CONSTRUCTORS = {
    # What a base's own constructor is given by the class, and how instances are made.
    "dict": ("{'a': v}", "dict"), "list": ("[v, 2]", "list"), "set": ("[v, 2]", "set"), "collections.deque": ("[v, 2]", "deque"),
    "collections.OrderedDict": ("{'a': v}", "dict"), "collections.defaultdict": ("int, {'a': v}", "dict"), "collections.UserDict": ("{'a': v}", "dict"),
    "collections.Counter": ("'aab'", "dict"), "Exception": ("'text', v", "error"), "ValueError": ("'text', v", "error"), "KeyError": ("v", "error"),
    "types.SimpleNamespace": ("", "plain"),
}  # fmt: skip

MEMBERS = [
    "k = {value}",
    "items = [1]",
    "count = 0",
    "@property\ndef p(self):\n    return {inner}",
    "@property\ndef p(self):\n    return getattr(self, '_p', 1)\n@p.setter\ndef p(self, v):\n    self._p = {scaled}",
    "@property\ndef p(self):\n    raise AttributeError('no p')",
    "@functools.cached_property\ndef cached(self):\n    note('cached')\n    return {inner}",
    "@classmethod\ndef c(cls, n=1):\n    return n, cls.__name__",
    "@classmethod\ndef make(cls, n=1):\n    return cls(n)",
    "@staticmethod\ndef s(n=1):\n    return n + 1",
    "def m(self, n=1):\n    return {inner}, n",
    "def m(self, n=1):\n    return super().m(n), 'over'",
    "def m(self, n=1, *rest, key=2, **more):\n    type(self).count += 1\n    return n, rest, key, more, self.count",
    "def m(self, n=1):\n    print('in m')\n    return {inner}",
    "def __add__(self, other):\n    return 'add', {other}",
    "def __add__(self, other):\n    return NotImplemented",
    "def __radd__(self, other):\n    return 'radd', {other}",
    "def __iadd__(self, other):\n    self.k = 7\n    return self",
    "def __mul__(self, other):\n    return 3",
    "def __eq__(self, other):\n    return {truth}",
    "def __eq__(self, other):\n    return type(other) is type(self) and self.v == other.v\ndef __hash__(self):\n    return hash(self.v)",
    "def __ne__(self, other):\n    return {truth}",
    "def __lt__(self, other):\n    return {truth}",
    "def __le__(self, other):\n    return NotImplemented",
    "def __hash__(self):\n    return 3",
    "def __len__(self):\n    return {small}",
    "def __bool__(self):\n    return {truth}",
    "def __iter__(self):\n    yield 1\n    yield {inner}",
    "def __iter__(self):\n    return iter([1, 2])",
    "def __getitem__(self, key):\n    return 'item', key",
    "def __getitem__(self, key):\n    if key > 2:\n        raise IndexError(key)\n    return key",
    "def __getitem__(self, key):\n    return super().__getitem__(key)",
    "def __setitem__(self, key, v):\n    note(('set', key))",
    "def __contains__(self, v):\n    return {truth}",
    "def __call__(self, *a, **k):\n    return a, k",
    "def __missing__(self, key):\n    return 'missing', key",
    "def __getattr__(self, name):\n    if name.startswith('_') or name == 'gone':\n        raise AttributeError(name)\n    return 'got', name",
    "def __getattribute__(self, name):\n    if name == 'v':\n        note('read v')\n    return super().__getattribute__(name)",
    "def __setattr__(self, name, v):\n    super().__setattr__(name, {scaled})",
    "def __delattr__(self, name):\n    note(('del', name))\n    super().__delattr__(name)",
    "def __repr__(self):\n    return f'<{{type(self).__name__}} {small}>'",
    "def __str__(self):\n    return 'str of it'",
    "def __format__(self, spec):\n    return 'fmt:' + spec",
    "def __enter__(self):\n    note('enter')\n    return self\ndef __exit__(self, kind, value, tb):\n    note(('exit', kind and kind.__name__, tb is None))\n    return {truth}",
    "def __neg__(self):\n    return 'neg'",
    "def __float__(self):\n    return 1.5",
    "def __index__(self):\n    return 1",
    "def __int__(self):\n    return 5",
    "def __abs__(self):\n    return 'abs'",
    "def __round__(self, n=None):\n    return 'round', n",
    "def __reversed__(self):\n    return iter('rev')",
    "def __init_subclass__(cls, **kw):\n    super().__init_subclass__(**kw)\n    cls.subclassed = True",
    "def __class_getitem__(cls, key):\n    return cls.__name__, key",
    "def __new__(cls, *a, **k):\n    made = super().__new__(cls{new})\n    note('new')\n    return made",
    "d = Describe()",
    "t = Typed(3)",
    "def gen(self, n=2):\n    try:\n        for i in range(n):\n            yield i, {inner}\n    finally:\n        note('closed')",
    "def __matmul__(self, other):\n    return 'matmul'",
    "def __copy__(self):\n    return type(self)()",
    "@functools.singledispatchmethod\ndef sd(self, v):\n    return 'any', {inner}\n@sd.register\ndef _(self, v: int):\n    return 'int', v\n@sd.register(str)\ndef _(self, v):\n    return 'str', {small}",
    "pm = functools.partialmethod(lambda self, a, b=2: (type(self).__name__, a, b), 7)",
    "__match_args__ = ('v',)",
    "def __sub__(self, other):\n    return 'sub', {other}\ndef __rsub__(self, other):\n    return 'rsub', {other}",
    "def __or__(self, other):\n    return {inner}\ndef __invert__(self):\n    return note('inverted')",
    "def __pow__(self, other, mod=None):\n    return 'pow', mod\ndef __divmod__(self, other):\n    return 'divmod'",
    "def __imul__(self, other):\n    return NotImplemented\ndef __rmul__(self, other):\n    return {other}",
    "def __iter__(self):\n    self.at = 0\n    return self\ndef __next__(self):\n    self.at += 1\n    if self.at > 2:\n        raise StopIteration\n    return {inner}",
    "def __length_hint__(self):\n    return {small}",
    "def __dir__(self):\n    return ['z', 'a']",
    "def __delitem__(self, key):\n    note(('gone', key))",
    "def __gt__(self, other):\n    note('gt')\n    return {truth}\ndef __ge__(self, other):\n    return super().__ge__(other)",
    "@contextlib.contextmanager\ndef cm(self):\n    note('cm in')\n    try:\n        yield self\n    except ValueError as e:\n        note(e.args)\n    finally:\n        note('cm out')",
    "class Inner:\n    q = {value}\n    def m(self):\n        return 'inner', self.q",
    "def rec(self, n=2):\n    return n if n <= 0 else (n, self.rec(n - 1))",
    "def __complex__(self):\n    return 1j\ndef __trunc__(self):\n    return {small}",
    "def __bytes__(self):\n    return b'bytes'",
    "def __eq__(self, other):\n    if not isinstance(other, type(self)):\n        return NotImplemented\n    return vars(self) == vars(other)\n__hash__ = None",
    "def __getattr__(self, name):\n    return functools.partial(note, name) if name == 'zz' else object.__getattribute__(self, name)",
    "@staticmethod\ndef st(f):\n    return f\n@property\ndef chained(self):\n    return self.st(lambda: {inner})()",
]


def indented(text: str, depth: int = 1) -> str:
    return "\n".join("    " * depth + line for line in text.split("\n"))


class ClassText:
    """One random class: its name, its text, and how to make an instance."""

    def __init__(self, r: random.Random, index: int, earlier: list[ClassText]):
        self.r, self.name = r, f"C{index}"
        self.parent = r.choice(earlier) if earlier and r.random() < 0.45 else None
        self.kind = self.parent.kind if self.parent else r.choice(KINDS)
        self.base = self.parent.base if self.parent else (r.choice(BASES) if self.kind in ("plain", "meta") else "")
        if self.parent and (self.kind in ENUMS or self.kind == "named"):
            self.parent, self.kind = None, "plain"
        made = {"named": self.named, **dict.fromkeys(ENUMS, self.enum)}
        self.text = made.get(self.kind, self.ordinary)()
        self.make = f"{self.name}.RED" if self.kind in ENUMS else f"{self.name}({r.choice(['', '2', '3'])})"

    def fill(self, member: str) -> str:
        r = self.r
        new = {
            "tuple": ", (1, 2)",
            "str": ", 'ab'",
            "int": ", 3",
            "float": ", 1.5",
            "Pair": ", 1, 2",
            "frozenset": ", [1]",
            "bytes": ", b'ab'",
        }
        return member.format(
            value=r.choice(VALUES), inner=r.choice(["self.v", "self.k", "1", "type(self).__name__", "self.m2()", "'t'", "len(self)"]),
            scaled=r.choice(["v", "v * 2", "[v]"]), other=r.choice(["1", "type(other).__name__"]),
            truth=r.choice(["True", "False", "False"]), small=r.choice(["0", "1", "2"]), new=new.get(self.base, ""),
        )  # fmt: skip

    def enum(self) -> str:
        body = ["RED = 1", "BLUE = 2", "CRIMSON = 1"]
        body += [
            self.fill(m)
            for m in self.r.sample(
                [m for m in MEMBERS if m.startswith(("def m", "@property\ndef p(self):\n    return {", "def __str__"))], 2
            )
        ]
        return f"class {self.name}({ENUMS[self.kind]}):\n" + indented("\n".join(body))

    def named(self) -> str:
        simple = [m for m in MEMBERS if m.startswith(("def m", "@property", "def __add__", "def __str__", "@classmethod", "@staticmethod"))]
        body = ["v: int = 1", "w: str = 'w'", *(self.fill(m) for m in self.r.sample(simple, 2) if "super()" not in m and "_p" not in m)]
        return f"class {self.name}(typing.NamedTuple):\n" + indented("\n".join(body))

    def ordinary(self) -> str:
        r = self.r
        bases = [self.parent.name] if self.parent else [self.base] if self.base else []
        if r.random() < 0.2 and not self.parent:
            bases = ["Mixin", *bases] if self.base != "object" else ["Mixin"]
        keywords = ["metaclass=Meta"] if self.kind == "meta" and not self.parent and "abc" not in self.base else []
        head = f"class {self.name}({', '.join(bases + keywords)}):"
        if self.kind in DATACLASSES:
            head = f"@dataclasses.dataclass{DATACLASSES[self.kind]}\n{head}"
        body = [*self.start(), "def m2(self):\n    return 'm2'"] + [self.fill(m) for m in r.sample(self.members(), r.randint(1, 6))]
        return head + "\n" + indented("\n".join(body))

    def members(self) -> list[str]:
        left = MEMBERS
        if self.kind in DATACLASSES:
            left = [
                m
                for m in left
                if not m.startswith(("k =", "items =", "count =", "d =", "t =", "def __setattr__", "def __delattr__"))
            ]
        if self.kind in ("slots", "slotted"):
            left = [m for m in left if "cached" not in m and not m.startswith(("k =", "items =", "count ="))]
        if self.base in ("tuple", "str", "int", "float", "Pair", "frozenset", "bytes", "complex"):
            left = [m for m in left if "__new__" not in m or self.base != "complex"]
        return left

    def start(self) -> list[str]:
        """Fields or a constructor."""
        r = self.r
        if self.kind in DATACLASSES:
            return ["v: int = 1"] if self.parent else ["v: int = 1", "w: list = dataclasses.field(default_factory=list)"]
        slots = ["__slots__ = ('v', 'k', '_p')"] if self.kind == "slots" and not self.parent and not self.base else []
        if self.base in ("tuple", "str", "int", "float", "Pair", "frozenset", "bytes", "complex") or (
            self.parent and r.random() < 0.6
        ):
            return slots + ["v = 4"] * (not slots)
        given = CONSTRUCTORS.get(self.base, ("", ""))[0] if not self.parent else "v"
        extra = r.choice(["", "\nself.k = [v]", "\nself.k = v + 1", "\nself.__dict__.update(w=v)"]) if not slots else "\nself.k = v"
        call = f"super().__init__({given})" if r.random() < 0.85 or self.base in CONSTRUCTORS else "pass"
        order = [call, "self.v = v" + extra]
        return [*slots, "def __init__(self, v=1):\n" + indented("\n".join(order))]
