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
