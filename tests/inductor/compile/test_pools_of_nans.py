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
