"""Special methods that a compiled function gives a class or takes from it: containers and conversions ask the new ones."""

import pytest

import weft


def made(name, value):
    class C:
        def __init__(self, v):
            self.v = v

    def change():
        if value is ...:
            delattr(C, name)
        else:
            setattr(C, name, value)

    return C, change


def equal(self, other):
    return self.v == other.v


CASES = [
    ("__eq__", equal, lambda C: (C(1) in [C(1), C(2)], [C(1), C(2)].index(C(2)))),
    ("__eq__", equal, lambda C: hash(C(1))),  # (a class that gains `__eq__` this way keeps its hash)
    ("__hash__", lambda self: 7, lambda C: (hash(C(1)), len({C(1), C(2)}))),
    ("__hash__", None, lambda C: {C(1): 2}),
    ("__float__", lambda self: 2.5, lambda C: float(C(1))),
    ("__index__", lambda self: 1, lambda C: [5, 6, 7][C(0)]),
    ("__len__", lambda self: 0, lambda C: bool(C(0))),
    ("__bool__", lambda self: False, lambda C: 1 if C(0) else 2),
    ("__iter__", lambda self: iter([1, 2]), lambda C: list(C(0))),
    ("__call__", lambda self, x: x + 1, lambda C: (callable(C(0)), C(0)(3))),
    ("__getattr__", lambda self, name: name, lambda C: C(0).missing),
    ("__init__", lambda self, v: None, lambda C: hasattr(C(0), "v")),
]


@pytest.mark.parametrize("name, value, use", CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_a_class_gains_a_special_method(name, value, use):
    def run(wrap):
        C, change = made(name, value)

        def f(x):
            y = x + 1
            change()
            try:
                found = use(C)
            except TypeError as e:
                found = str(e)
            return y * 2, found

        y, found = wrap(f)(weft.ones(2))
        return y.tolist(), "hash" if name == "__eq__" and type(found) is int else found

    assert run(weft.compile) == run(lambda f: f)


def test_a_class_loses_a_special_method():
    def run(wrap):
        class C:
            def __len__(self):
                return 0

        def f(x):
            before = bool(C())
            del C.__len__
            return x + 1, before, bool(C())

        return wrap(f)(weft.ones(2))[1:]

    assert run(weft.compile) == run(lambda f: f) == (False, True)
