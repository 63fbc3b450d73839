"""Bools that are made of bools are computed as bytes; what selects among narrow elements is the bytes of a mask in memory."""

import re

import pytest

import weft

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def sources(kernels_made):
    """The texts of all kernels that are made."""
    return lambda: "".join(kernels_made)


FUNCTIONS = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: weft.logical_or(a, b),
    "xor": lambda a, b: a ^ b,
    "not": lambda a, b: ~a,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "several": lambda a, b: weft.logical_not(a & ~b) | (a == True),  # noqa: E712
    "turned": lambda a, b: a.t().logical_xor(b.t()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bools_of_bools_are_bytes(name, sources):
    f = FUNCTIONS[name]
    a, b = weft.randint(0, 2, (9, 37)).bool(), weft.randint(0, 2, (9, 37)).bool()
    assert weft.equal(weft.compile(f, fullgraph=True)(a, b), f(a, b))
    assert "w_b8" not in sources()


def test_bytes_in_memory_may_be_any():
    a = weft.tensor([2, 0, 1, 255], dtype=weft.uint8).view(weft.bool)
    b = weft.tensor([True, True, False, True])
    for f in FUNCTIONS.values():
        if f is not FUNCTIONS["turned"]:
            assert weft.compile(f, fullgraph=True)(a, b).tolist() == f(a, b).tolist()


def test_bools_of_anything_else_are_not(sources):
    x, a = weft.randn(50), weft.randint(0, 2, (50,)).bool()
    f = lambda x, a: (x > 0) & a
    assert weft.equal(weft.compile(f, fullgraph=True)(x, a), f(x, a))
    assert "w_b8" in sources()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "int16"])
def test_a_mask_selects_narrow_elements_by_its_bytes(dtype, sources):
    x = weft.randint(-9, 9, (9, 37)).to(getattr(weft, dtype))
    a = weft.randint(0, 3, (37,)).to(weft.uint8).view(weft.bool)
    f = lambda x, a: weft.masked_fill(x, a, 7)
    assert weft.equal(weft.compile(f, fullgraph=True)(x, a), f(x, a))
    assert "w_select(w_read<unsigned char, L>(" in sources()


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_wide_elements_are_selected_by_lanes_of_their_own_size(dtype, sources):
    x = weft.randint(-9, 9, (9, 37)).to(getattr(weft, dtype))
    f = lambda x: weft.where(x < 0, 0, x)
    assert weft.equal(weft.compile(f, fullgraph=True)(x), f(x))
    assert "w_select((" in sources()


COMPARISONS = {
    "of two": lambda x, y: x < y,
    "with a number": lambda x, y: x == 3,
    "whether any": lambda x, y: x.bool(),
    "and": lambda x, y: weft.logical_and(x, y),
    "or": lambda x, y: (x > 0) | (y < 2),
    "xor": lambda x, y: weft.logical_xor(x, y),
    "neither": lambda x, y: weft.logical_not((x > 1) & (y != x)),
    "of columns": lambda x, y: weft.logical_and(x.t(), y.t()),
}


@pytest.mark.parametrize("sizes", [(9, 37), (0, 5), (128, 64)], ids=str)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "float64", "bfloat16", "float32"])
def test_comparisons_are_lanes_of_their_operands(dtype, sizes):
    x, y = (weft.randint(0, 5, sizes).to(getattr(weft, dtype)) for _ in "xy")
    for f in COMPARISONS.values():
        got = weft.compile(f, fullgraph=True)(x, y)
        assert got.dtype == weft.bool and weft.equal(got, f(x, y))
    if x.dtype.is_floating_point and x.numel():
        x[0] = float("nan")
        for f in COMPARISONS.values():
            assert weft.equal(weft.compile(f, fullgraph=True)(x, y), f(x, y))


@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_truths_of_truths_are_stored_as_lanes_of_what_is_compared(dtype, sources):
    x = weft.randint(0, 5, (300,)).to(getattr(weft, dtype))
    weft.compile(COMPARISONS["and"], fullgraph=True)(x, x)
    assert re.search(r"w_store\(b\d \+ \(i0\), \(?\(t\d != ", sources())


def test_truths_of_operands_of_several_sizes(sources):
    x, y = weft.randint(0, 3, (300,)), weft.randint(0, 3, (300,), dtype=weft.int8)
    for f in (COMPARISONS["and"], COMPARISONS["or"], COMPARISONS["neither"]):
        assert weft.equal(weft.compile(f, fullgraph=True)(x, y), f(x, y))
