"""What was looked up on classes changes between two calls: found, hidden, replaced, gone."""

import abc
import dataclasses
import enum

import pytest

import weft
from tests.dynamo.objects.twice import check, listed
from weft import nn

PROGRAMS: list = []
program = listed(PROGRAMS)


def x():
    return weft.arange(4.0)


def calls(c, *changes):
    """The results before and after each change."""
    found = [c()]
    for change in changes:
        change()
        found.append(c())
    return found


@program
def hooks_of_attributes(C):
    class Hooked:
        def __getattr__(self, name):
            return 1.0

    o = Hooked()
    f = C(lambda v: v * o.scale)
    return calls(
        lambda: f(x()),
        lambda: setattr(Hooked, "__getattr__", lambda self, name: 7.0),
        lambda: setattr(Hooked, "scale", 3.0),
        lambda: o.__dict__.update(scale=5.0),
        lambda: setattr(Hooked, "__getattribute__", lambda self, name: 9.0),
    )


@program
def hooks_of_stores(C):
    class Kept:
        pass

    def f(v):
        o = Kept()
        o.y = 2
        return v * o.y

    c = C(f)
    return calls(
        lambda: c(x()),
        lambda: setattr(Kept, "__setattr__", lambda self, n, value: object.__setattr__(self, n, value * 10)),
        lambda: setattr(Kept, "__init__", lambda self: None),
        lambda: setattr(Kept, "y", property(lambda self: 4, lambda self, value: None)),
    )


@program
def constructors(C):
    class Base:
        pass

    class Made(Base):
        def __init__(self):
            self.k = 1

    def init(self):
        self.k = 2

    def new(cls):
        self = object.__new__(cls)
        self.extra = 5
        return self

    def f(v):
        o = Made()
        return v * o.k + getattr(o, "extra", 0)

    c = C(f)
    return calls(lambda: c(x()), lambda: setattr(Made, "__init__", init), lambda: setattr(Base, "__new__", new))


@program
def defaults_of_a_constructor(C):
    @dataclasses.dataclass
    class P:
        a: int = 1

    f = C(lambda v: v * P().a)

    def change():
        P.__init__.__defaults__ = (6,)

    return calls(lambda: f(x()), change)


@program
def metaclasses(C):
    class Meta(type):
        def make(cls):
            return 1

        def __call__(cls, *args):
            return super().__call__(*args)

    class K(metaclass=Meta):
        k = 3

    f = C(lambda v: v * K.make() + K().k)
    return calls(
        lambda: f(x()),
        lambda: setattr(Meta, "make", lambda cls: 2),
        lambda: setattr(Meta, "__getattr__", lambda cls, name: 2),
        lambda: setattr(Meta, "__call__", lambda cls: type("Other", (), {"k": 8})()),
    )


@program
def a_class_that_comes_between_super_and_what_it_found(C):
    class A:
        def m(self):
            return 1

        @classmethod
        def make(cls):
            return cls.__name__

    class B(A):
        pass

    class D(B):
        def m(self):
            return super().m()

        def made(self):
            return super().make()

    d = D()
    f = C(lambda v: (v * d.m(), d.made()))
    return calls(
        lambda: f(x()),
        lambda: setattr(B, "m", lambda self: 2),
        lambda: setattr(B, "make", classmethod(lambda cls: "patched " + cls.__name__)),
        lambda: delattr(B, "m"),
        lambda: setattr(A, "m", lambda self: 5),
    )


@program
def special_methods_that_come_later(C):
    class O1:
        pass

    a, b = O1(), O1()

    def f(v):
        return v * (2 if a else 3), a == b, a != b, hasattr(a, "__len__"), callable(a)

    c = C(f)
    return calls(
        lambda: c(x()),
        lambda: setattr(O1, "__len__", lambda self: 0),
        lambda: setattr(O1, "__bool__", lambda self: True),
        lambda: setattr(O1, "__eq__", lambda self, other: True),
        lambda: setattr(O1, "__ne__", lambda self, other: True),
        lambda: setattr(O1, "__call__", lambda self: 1),
    )


@program
def code_of_methods_and_functions(C):
    def helper():
        return 1

    class O2:
        def m(self):
            return 1

        @property
        def p(self):
            return 1

        @staticmethod
        def s():
            return 1

    o = O2()
    f = C(lambda v: v * helper() + o.m() * 10 + o.p * 100 + o.s() * 1000)
    two, with_self = (lambda: 2), (lambda self: 2)

    def code(function, other):
        def change():
            function.__code__ = other.__code__

        return change

    return calls(
        lambda: f(x()),
        code(helper, two),
        code(O2.m, with_self),
        code(O2.__dict__["p"].fget, with_self),
        code(O2.s, two),
        lambda: setattr(O2, "p", property(lambda self: 3)),
        lambda: setattr(O2, "s", staticmethod(lambda: 3)),
    )


@program
def the_class_of_an_object_and_its_bases(C):
    class A:
        k = 1

    class B:
        k = 2

    class D(A):
        pass

    o, d = A(), D()
    f = C(lambda v: v * o.k + d.k * 10)

    def other_class():
        o.__class__ = B

    return calls(lambda: f(x()), other_class, lambda: setattr(D, "k", 5), lambda: delattr(D, "k"))


@program
def what_counts_as_a_subclass(C):
    class Base(abc.ABC):
        @abc.abstractmethod
        def m(self): ...

    class T:
        pass

    f = C(lambda t, v: v * (2 if isinstance(t, Base) else 3) + issubclass(T, Base))
    return calls(lambda: f(T(), x()), lambda: Base.register(T))


@program
def members_of_enumerations(C):
    class Color(enum.Enum):
        RED = 1

        @property
        def twice(self):
            return self.value * 2

    f = C(lambda v: v * Color.RED.value + Color.RED.twice)

    def change():
        Color.RED._value_ = 9

    return calls(lambda: f(x()), change, lambda: setattr(Color, "twice", 4))


@program
def methods_of_layers_and_forward_itself(C):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, v):
            return self.act(v) + 1

    m = M()
    c = C(m)
    return calls(
        lambda: c(x()),
        lambda: setattr(M, "forward", lambda self, v: v * 2),
        lambda: setattr(m, "forward", lambda v: v * 3),
    )


@program
def class_attributes_that_are_data(C):
    class O3:
        n = 0
        items = [1]
        w = weft.ones(4)

    o = O3()
    f = C(lambda v: v * o.n + len(o.items) + o.w)
    return calls(
        lambda: f(x()),
        lambda: setattr(O3, "n", 1),
        lambda: O3.items.append(2),
        lambda: setattr(O3, "items", [1, 2, 3]),
        lambda: setattr(O3, "w", weft.zeros(4)),
        lambda: o.__dict__.update(n=5),
    )


@program
def dicts_of_classes_that_were_changed(C):
    class Base:
        n = 0

    class Given(Base):
        old = 3

    def f(v):
        Given.n += 1
        if Given.n == 1:
            del Given.old
        names = [k for k in vars(Given) if not k.startswith("_")]
        return v * Given.__dict__["n"], "n" in Given.__dict__, vars(Given).get("old"), names

    return calls(lambda: C(f)(x()), lambda: setattr(Given, "late", 5))


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda p: p.__name__)
def test_compiled_is_plain(case):
    check(case)


class Described(property):
    def __init__(self, fget=None, *, unit=""):
        super().__init__(fget)
        self.unit = unit


class Rod:
    def __init__(self, size):
        self.size = size

    @Described
    def double(self):
        return self.size * 2


def test_a_class_made_from_property_is_read_as_a_property():
    rod = Rod(3)
    compiled = weft.compile(lambda x: x + rod.double, backend="eager", fullgraph=True)
    assert compiled(weft.ones(2)).tolist() == [7.0, 7.0]
    rod.size = 5
    assert compiled(weft.ones(2)).tolist() == [11.0, 11.0]


class Slotted:
    __slots__ = ("place",)

    def method(self):
        return 1


@pytest.mark.parametrize("descriptor", [Slotted.place, Slotted.method], ids=["slot", "function"])
def test_a_descriptor_asked_for_no_object_and_no_class_refuses(descriptor):
    def f(x):
        found = []
        for arguments in ((None,), (None, None), (None, Slotted)):
            try:
                found.append(descriptor.__get__(*arguments))
            except TypeError as e:
                found.append(str(e))
        return x + 1, found

    text = "__get__(None, None) is invalid"
    assert weft.compile(f, backend="eager")(x())[1] == f(x())[1] == [text, text, descriptor]


def test_contexts_are_entered_and_left_by_their_class():
    class Context:
        def __enter__(self):
            return 1.0

        def __exit__(self, *error):
            return True

    context = Context()
    context.__enter__ = lambda: 5.0
    context.__exit__ = None

    def f(v):
        with context as n:
            v = v + n
            raise ValueError
        return v

    assert weft.compile(f, backend="eager", fullgraph=True)(x()).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_what_is_told_of_writes_and_cannot_be_read_stands_behind_the_object():
    class Told:
        def __set__(self, obj, value):
            vars(obj)["d"] = value + 1

    class Deleted:
        def __delete__(self, obj):
            pass

    class Meta(type):
        d, e = Told(), Deleted()

    class A(metaclass=Meta):
        d, e = Told(), Deleted()

    class B(metaclass=Meta):
        pass

    def f(v, o):
        found = [type(o.d), type(o.e), type(A.d), type(A.e), type(B.d), type(B.e)]
        o.d = 3
        vars(o)["e"] = 8
        for change in (lambda: setattr(o, "e", 3), lambda: delattr(o, "d"), lambda: delattr(o, "e")):
            try:
                found.append(change())
            except AttributeError as e:
                found.append(str(e))
        return v * o.d + o.e, found

    c = weft.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        want, got = f(x(), A()), c(x(), A())
        assert got[0].tolist() == want[0].tolist() == [8.0, 12.0, 16.0, 20.0] and got[1] == want[1]


def test_a_descriptor_that_loses_its_getter_lets_the_object_speak():
    class Descriptor:
        def __get__(self, obj, cls):
            return 5

        def __set__(self, obj, value):
            raise AssertionError

    class A:
        d = Descriptor()

    o = A()
    vars(o)["d"] = 6
    c = weft.compile(lambda v: v * o.d)
    assert calls(lambda: c(x()).tolist()[1], lambda: delattr(Descriptor, "__get__")) == [5.0, 6.0]
