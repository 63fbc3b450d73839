"""Values that lie side by side (stacks along a new last dim, pairs of a rotation): one loop, whose stores interleave registers."""

import pytest

import weft

pytestmark = pytest.mark.usefixtures("own_cache")
DTYPES = ["bool", "int8", "int32", "int64", "bfloat16", "float16", "float32", "float64"]


@pytest.fixture
def sources(kernels_made):
    """The texts of all kernels that are made."""
    return lambda: "".join(kernels_made)


def same(f, *inputs):
    """The functions compiled for these sizes and for all give eager's results, bit for bit."""
    for dynamic in (False, True):
        weft.compiler.reset()
        made, expected = weft.compile(f, dynamic=dynamic, fullgraph=True)(*inputs), f(*inputs)
        assert weft.equal(made, expected) and made.stride() == expected.stride()


@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_stack_along_a_new_last_dim(parts, dtype, sources):
    for n in (3, 16, 70, 1000):
        given = [(weft.randn(n) * 50).to(getattr(weft, dtype)) for _ in range(parts)]
        same(lambda *given: weft.stack(given, -1), *given)
        same(lambda *given: weft.stack(given, -1).flatten(-2)[..., 1:], *given)
        same(lambda *given: weft.stack([given[0], *[t.where(t == t, t) for t in given[1:]]], -1), *given)
    assert f"w_store_parts<{parts}>" in sources()


def rotated(x, cos, sin):
    first, second = x[..., ::2], x[..., 1::2]
    return x * cos + weft.stack((-second, first), -1).flatten(-2) * sin


@pytest.mark.parametrize("width", [8, 32, 64])
def test_rotations_of_pairs(width, sources):
    x, cos, sin = weft.randn(2, 3, 40, width), weft.randn(40, width), weft.randn(40, width)
    same(rotated, x, cos, sin)
    assert "w_store_parts<2>" in sources()


def test_parts_that_take_long_are_computed_once(kernels_made):
    x, y = weft.rand(3000), weft.rand(3000)
    f = lambda x, y: weft.stack([x * weft.cos(y), x * weft.sin(y)], -1)
    assert weft.allclose(weft.compile(f, dynamic=False)(x, y), f(x, y), atol=1e-6)
    (text,) = kernels_made
    assert "w_store_parts<2>" in text and "w_scatter" not in text
    weft.compiler.reset()
    made = weft.compile(weft.polar, dynamic=False)(x, y)
    assert weft.allclose(made, weft.polar(x, y)) and len(kernels_made) == 2


def test_pads_rolls_and_joins_of_few_columns():
    x, y = weft.randn(1000, 2), weft.randn(1000, 1)
    same(lambda x: weft.nn.functional.pad(x, (1, 1), value=2.5), x)
    same(lambda x, y: weft.cat([x, y], -1), x, y)
    same(lambda x, y: weft.cat([x, y, y + 1], -1), x, y)
    same(lambda x: x.roll(1, -1), x)
    same(lambda x, y: weft.stack([x.t(), y.t().expand(2, -1)], -1), x, y)
    boxes = weft.randn(500, 4)
    centre = lambda b: weft.stack([(b[:, 0] + b[:, 2]) / 2, (b[:, 1] + b[:, 3]) / 2, b[:, 2] - b[:, 0], b[:, 3] - b[:, 1]], -1)
    same(centre, boxes)


def test_a_stack_written_over_what_it_reads():
    def swap(x):
        x.copy_(weft.stack([x[:, 1], x[:, 0]], -1))
        return x

    for dynamic in (False, True):
        x = weft.randn(700, 2)
        expected = x.flip(1)
        assert weft.equal(weft.compile(swap, dynamic=dynamic)(x), expected)


def test_what_takes_long_is_not_computed_for_every_part(sources):
    """Lanes of short rows are of several parts: each would compute all of them."""
    for dtype in (weft.float32, weft.float64):
        x, y = weft.rand(2000, 3).to(dtype), weft.rand(2000, 3).to(dtype)
        for f in (
            lambda x, y: weft.cat([x.sin(), y.sin()], -1),
            lambda x, y: weft.cat([x.sin(), y.sin()], 0),
            lambda x, y: weft.nn.functional.pad(x.sin(), (1, 1, 2, 0)) + y.sum(),
            lambda x, y: weft.stack([t.sin() for t in (*x.unbind(-1), *y.unbind(-1))], -1),
        ):
            assert weft.allclose(weft.compile(f, dynamic=False)(x, y), f(x, y), atol=1e-6)
            weft.compiler.reset()
    loops = [loop for loop in sources().split("static void ") if "vm_sin(" in loop]
    assert loops and not any("t2[0]" in loop or "w_mask(i" in loop or "w_select" in loop for loop in loops)
