"""Records: what follows from fields."""

from __future__ import annotations

import pytest

from aten.records import field, fields, record, replaced


@record(frozen=True)
class Point:
    x: int
    y: int = 2
    note: str = field(default="", compare=False)


@record
class Bag(Point):
    things: list = field(default_factory=list)

    def __post_init__(self):
        self.size = len(self.things)


def test_arguments_go_by_place_and_by_name_and_have_defaults():
    assert (Point(1).x, Point(1).y, Point(x=3, y=4).y) == (1, 2, 4)
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)


def test_values_are_equal_by_their_fields_and_class():
    assert Point(1) == Point(1, 2, "other") != Point(1, 3)
    assert hash(Point(1)) == hash(Point(1, 2, "other"))
    assert Point(1) != Bag(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Bag(1))


def test_the_fields_of_a_base_come_first_and_lists_are_made_anew():
    assert fields(Bag) == fields(Bag(1)) == ("x", "y", "note", "things")
    assert Bag(1).things == [] and Bag(1).things is not Bag(1).things
    assert Bag(1, things=[5]).size == 1


def test_text_and_changed_copies():
    assert repr(Point(1)) == "Point(x=1, y=2, note='')"
    assert replaced(Point(1), y=9) == Point(1, 9)
    match Point(1, 5):
        case Point(x, y):
            assert (x, y) == (1, 5)


def test_what_a_class_defines_itself_stays_and_identity_may_be_equality():
    @record(eq=False)
    class Own:
        a: int

        def __repr__(self):
            return "own"

    assert repr(Own(1)) == "own" and Own(1) != Own(1) and hash(Own(1)) is not None
