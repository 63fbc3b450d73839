"""What the ends of ranges say of products."""

from aten.symbolic.expr import ZERO, simplify, sym


def test_ends_of_ranges_inside_products():
    """A row of a matrix and a place in it lie below the number of its elements: i*s3 + j < s2*s3 for i < s2, j < s3."""
    i, j, s2, s3 = map(sym, ("i", "j", "s2", "s3"))
    ranges = {"i": (0, s2 - 1), "j": (0, s3 - 1), "s2": (1, None), "s3": (1, None)}
    assert simplify((i * s3 + j) // (s2 * s3), ranges) is ZERO
    assert simplify((i * s3 + j) % (s2 * s3), ranges) is simplify(i * s3 + j, ranges)
    below_zero = {**ranges, "s3": (-5, None)}
    assert simplify((i * s3 + j) // (s2 * s3), below_zero) is not ZERO


def test_places_taken_apart_and_put_together():
    i, j, s2, s3 = map(sym, ("i", "j", "s2", "s3"))
    ranges = {"i": (0, None), "j": (0, 6), "s2": (0, None), "s3": (0, None)}
    place = i * 7 + j
    apart = place % s3 + (place // s3 % s2) * s3 + (place // (s2 * s3)) * (s2 * s3)
    assert simplify(apart, ranges) is simplify(place, ranges)
    assert simplify(j * (i % s3) + j * s3 * (i // s3) + 4, ranges) is j * i + 4
    negative = {**ranges, "s2": (None, None)}
    assert simplify(apart, negative) is not simplify(place, negative)
