"""Where the largest element of a window with NaNs stands, and where its gradient goes, is the same compiled as in eager."""

import pytest

import weft

F = weft.nn.functional
POOLS = {
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, return_indices=True), (2, 9)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), (1, 2, 7, 7)),
    "dilated": (lambda x: F.max_pool2d(x, 2, 1, 0, 2, return_indices=True), (1, 2, 7, 7)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, 1, return_indices=True), (1, 1, 4, 4, 4)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True), (1, 2, 7, 7)),
}


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16], ids=str)
@pytest.mark.parametrize("name", POOLS)
def test_the_first_nan_is_the_largest(name, dtype):
    pool, sizes = POOLS[name]
    weft.manual_seed(1)
    x = weft.randn(sizes)
    x[weft.rand(sizes) < 0.3] = float("nan")

    weft.compiler.reset()

    def run(f):
        leaf = x.to(dtype).requires_grad_()
        values, places = f(leaf)
        return places, weft.autograd.grad(values, leaf, weft.ones_like(values))[0]

    got, expected = run(weft.compile(lambda x: pool(x * 1), fullgraph=True)), run(lambda x: pool(x * 1))
    assert all(a.tolist() == b.tolist() for a, b in zip(got, expected))


VALUES = {
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2), (2, 9)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 1, 1), (2, 2, 7, 37)),
    "dilated": (lambda x: F.max_pool2d(x, 2, 1, 0, 2), (1, 2, 7, 7)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, 2, ceil_mode=True), (1, 2, 5, 5, 5)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), (1, 2, 9, 8)),
    "empty": (lambda x: F.max_pool2d(x, 2), (0, 2, 7, 7)),
    "large": (lambda x: F.max_pool2d(x, 5, 1, 2), (2, 2, 9, 37)),
    "large_ceil": (lambda x: F.max_pool2d(x, (5, 3), 2, 1, ceil_mode=True), (2, 2, 10, 38)),
    "large_dilated": (lambda x: F.max_pool2d(x, 3, 2, 1, 2), (2, 2, 12, 23)),
    "large_of_three": (lambda x: F.max_pool3d(x, 3, 2, 1), (2, 2, 7, 6, 20)),
    "computed": (lambda x: F.max_pool2d(x * 2, 3, 1, 1) + 1, (2, 2, 9, 37)),
    "columns_apart": (lambda x: F.max_pool2d(x.transpose(-1, -2), 2), (2, 3, 6, 40)),
}


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16], ids=str)
@pytest.mark.parametrize("name", VALUES)
def test_values_alone_are_those_of_eager(name, dtype):
    pool, sizes = VALUES[name]
    weft.manual_seed(1)
    x = weft.randint(-2, 3, sizes).to(dtype)
    x = weft.where(weft.rand(sizes) < 0.3, -x, x)  # zeros of both signs, of which the first is taken
    x[weft.rand(sizes) < 0.1] = float("nan")
    weft.compiler.reset()
    got, expected = weft.compile(pool, fullgraph=True)(x), pool(x)
    assert got.dtype == expected.dtype and str(got.tolist()) == str(expected.tolist())


def test_places_that_nobody_asks_for_are_not_computed(kernels_made, own_cache):
    x = weft.randn(2, 3, 9, 9)
    assert weft.equal(weft.compile(lambda x: F.max_pool2d(x, 3, 1), fullgraph=True)(x), F.max_pool2d(x, 3, 1))
    (text,) = kernels_made
    assert "vm_max" in text and "w_select(" not in text


def test_maxima_of_large_windows_are_taken_in_turn(kernels_made, own_cache):
    x = weft.randn(2, 3, 40, 64)
    assert weft.equal(weft.compile(lambda x: F.max_pool2d(x, 5), fullgraph=True)(x), F.max_pool2d(x, 5))
    x.requires_grad_()  # then places are kept, and values found on the way to them
    compiled = weft.compile(lambda x: F.max_pool2d(x, 5), fullgraph=True)
    assert weft.equal(weft.autograd.grad(compiled(x).sum(), x)[0], weft.autograd.grad(F.max_pool2d(x, 5).sum(), x)[0])
    assert 0 < kernels_made[0].count("vm_max") < 24 and "w_select(" not in kernels_made[0]
    assert not any("vm_max" in text for text in kernels_made[1:])


def test_gradients_by_transforms_know_the_places():
    f = lambda x: F.max_pool2d(x, 3, 1).sum()
    x = weft.randint(0, 3, (1, 1, 6, 9)).float()  # several of a window are the largest
    assert weft.equal(weft.compile(weft.func.grad(f))(x), weft.func.grad(f)(x))
