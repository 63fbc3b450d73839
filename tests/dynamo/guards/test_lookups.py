"""Guards on what a look found or did not find: along an MRO, in a set, in the ambient state."""

import functools
import gc
import weakref

import pytest

import aten
import weft
from dynamo import guards
from dynamo.guard_program import GuardCompiler
from dynamo.guards import ABSENT, ClassLookupIs, Equals, FlagIs, IdIs, SetIs
from dynamo.source import Attr, InstanceDict, Item, Object
from tests.dynamo.guards.program import F, Program, X
from tests.dynamo.kinds.alike import alike


def family():
    class Base:
        def f(self):
            return "base"

    class Middle(Base):
        pass

    class Leaf(Middle):
        kept = (1, 2)

        @property
        def p(self):
            return 1

    return Base, Middle, Leaf


def test_a_walk_along_the_mro_that_found_something():
    base, middle, leaf = family()
    p = Program(ClassLookupIs(Object(leaf), "f", base.f))
    assert p() and p()
    middle.f = lambda self: "between"
    assert not p()
    del middle.f
    assert p()
    base.f, old = (lambda self: "other"), base.f
    assert not p()
    base.f = old
    assert p()
    del base.f
    assert not p()


def test_a_walk_that_found_nothing():
    base, _, leaf = family()
    p = Program(ClassLookupIs(Object(leaf), "__bool__", ABSENT))
    assert p() and p()
    base.__bool__ = lambda self: True
    assert not p()
    del base.__bool__
    assert p()
    leaf.__bases__ = (type("Other", (base,), {"__bool__": None}),)
    assert not p()


def test_a_found_value_of_any_kind():
    _, _, leaf = family()
    for name in ("kept", "p", "__dict__", "__module__"):
        holder = next(c for c in leaf.__mro__ if name in c.__dict__)
        p = Program(ClassLookupIs(Object(leaf), name, holder.__dict__[name]))
        assert p() and p()
    p = Program(ClassLookupIs(Object(leaf), "p", leaf.__dict__["p"]))
    leaf.p = property(lambda self: 2)
    assert not p()
    assert Program(ClassLookupIs(Object(int), "__add__", int.__add__))()


def test_many_look_ups_of_one_class_are_one_word():
    _, _, leaf = family()
    names = [f"missing{i}" for i in range(40)]
    p = Program(*(ClassLookupIs(Object(leaf), n, ABSENT) for n in names))
    assert p()
    walks = p.native.stats["walks"]
    for _ in range(10):
        assert p()
    assert p.native.stats["walks"] == walks and p.native.stats["words"] <= 2


def test_only_a_class_has_an_mro_to_walk():
    p = Program(ClassLookupIs(X, "f", ABSENT))
    assert p(int) and not p(3)


def test_a_look_up_does_not_keep_what_it_found():
    base, middle, leaf = family()
    native = GuardCompiler(F.__code__, [ClassLookupIs(X, "f", base.f)]).compile()
    gone = weakref.ref(base)
    assert native.check(F, (leaf, None, None, (), {})) is True
    del base, middle, leaf
    gc.collect()
    assert native is not None and gone() is None


def test_the_contents_of_a_set_that_lives_on():
    live = {1, 2, "a"}
    p = Program(SetIs(X, tuple(live)))
    assert p(live) and p(live)
    live.add(3)
    assert not p(live)
    live.discard(3)
    assert p(live) == (tuple(live) == p.guards[0].elements)
    live.discard("a")
    assert not p(live)
    assert not p({1, 2, "b"}) and not p([1, 2]) and not p({True, 2, "a"})
    assert Program(SetIs(X, ()))(frozenset()) and not Program(SetIs(X, (1,)))(set())


def test_a_set_that_hangs_on_an_object_is_remembered():
    class Holder:
        pass

    h = Holder()
    h.s = {10, 20}
    p = Program(SetIs(Attr(X, "s"), tuple(h.s)))
    assert p(h)
    walks = p.native.stats["walks"]
    assert p(h) and p.native.stats["walks"] == walks
    h.s.remove(10)
    h.s.add(30)  # as many as before, in the same table
    assert not p(h)
    h.s = {10, 20}
    assert p(h)


def test_flags_of_the_ambient_state():
    p = Program(FlagIs(None, "grad", guards.flag("grad")))
    assert p()
    with aten.no_grad():
        assert not p()
    p = Program(FlagIs(None, "default_dtype", guards.flag("default_dtype")))
    aten.set_default_dtype(aten.float64)
    try:
        assert not p()
    finally:
        aten.set_default_dtype(aten.float32)
    assert p()
    n = aten.get_num_threads()
    p = Program(FlagIs(None, "num_threads", guards.flag("num_threads")))
    assert p()
    aten.set_num_threads(n + 1)
    try:
        assert not p()
    finally:
        aten.set_num_threads(n)
    assert p()


def test_every_flag_has_bits_of_its_own():
    bits = list(guards.AMBIENT_FLAGS.values())
    assert sum(bits) == functools.reduce(int.__or__, bits)


@pytest.mark.parametrize("value", [3, "text", None])
def test_an_instance_attribute_past_the_classs_own_getattribute(value):
    asked = []

    class Config:
        def __getattribute__(self, name):
            asked.append(name)
            return object.__getattribute__(self, name)

    c = Config()
    c.k = value
    asked.clear()
    p = Program(Equals(Item(InstanceDict(X), "k"), value))
    assert p(c) and p(c) and not asked
    c.k = "another"
    assert not p(c)
    c.k = value
    assert p(c)
    walks = p.native.stats["walks"]
    assert p(c) and p.native.stats["walks"] == walks
    asked.clear()
    assert Program(IdIs(Item(InstanceDict(X), "k"), value))(c) and not asked


def test_a_class_that_comes_to_take_calls_is_seen():
    class V:
        def __radd__(self, other):
            return "reflected"

    v = V()

    def f(x):
        try:
            return x + v, weft.add(x, v)
        except TypeError as e:
            return str(e)

    taken = classmethod(lambda cls, function, types, args=(), kwargs=None: (cls.__name__, len(args)))

    def between(n):
        if n == 2:
            V.__torch_function__ = taken
        elif "__torch_function__" in vars(V):
            del V.__torch_function__

    alike(f, *[(weft.ones(2),)] * 4, between=between)
