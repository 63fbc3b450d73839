"""A super object that a function is given: its attributes are those of the classes behind it, not of `super`."""

import weft


class Meta(type):
    def __new__(mcs, *args):
        return super().__new__(mcs, *args)


class Base:
    def g(self, x):
        return x + 1


class Derived(Base):
    def g(self, x):
        return x * 100


def test_new_of_a_super_object():
    def f(x, s):
        return x * 2, s.__new__(Meta, "Made", (), {}).__name__

    out, name = weft.compile(f)(weft.ones(1), super(Meta, Meta))
    assert out.item() == 2 and name == "Made"


def test_methods_of_a_super_object():
    def f(x, s):
        return s.g(x), s.__self__.g(x), s.__class__

    s = super(Derived, Derived())
    assert str(weft.compile(f)(weft.ones(1), s)) == str(f(weft.ones(1), s))
