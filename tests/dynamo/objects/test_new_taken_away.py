"""A class that had a `__new__`: Python goes on refusing arguments for object's when it is deleted."""

import pytest

import weft


def test_arguments_are_refused_as_python_refuses_them():
    class Made:
        def __new__(cls, *args):
            return super().__new__(cls)

        def __init__(self, v):
            self.v = v

    class Kept(Made):
        pass

    class Plain:
        def __init__(self, v):
            self.v = v

    def f(x, cls):
        return x * cls(3).v

    compiled = weft.compile(f)
    for cls in (Made, Kept, Plain):
        assert compiled(weft.ones(1), cls).item() == 3
    del Made.__new__
    for cls in (Made, Kept):
        with pytest.raises(TypeError) as plain:
            f(weft.ones(1), cls)
        with pytest.raises(TypeError) as found:
            compiled(weft.ones(1), cls)
        assert str(found.value) == str(plain.value)
    assert compiled(weft.ones(1), Plain).item() == 3


def test_what_was_compiled_before_a_class_had_one_is_not_run_after_it_was_deleted():
    class Made:
        def __init__(self, v):
            self.v = v

    class Kept(Made):
        pass

    def f(x, cls):
        return x * cls(3).v

    compiled = weft.compile(f)
    for cls in (Made, Kept):
        assert compiled(weft.ones(1), cls).item() == 3
    Made.__new__ = lambda cls, v: object.__new__(cls)
    for cls in (Made, Kept):
        assert compiled(weft.ones(1), cls).item() == 3
    del Made.__new__
    for cls in (Made, Kept):
        with pytest.raises(TypeError, match=r"object.__new__\(\) takes exactly one argument"):
            compiled(weft.ones(1), cls)
