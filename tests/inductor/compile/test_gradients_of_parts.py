"""Gradients of parts of what a function made, whose sizes and places change; and of ops told by numbers that do."""

import pytest

import weft

CASES = {
    "a column": (lambda x, n: (x * 1)[:, 1], (1, 2)),
    "the column at a number": (lambda x, n: (x * 1)[:, n], (2, 3, 0)),
    "the last column": (lambda x, n: (x * 1)[:, x.shape[1] - 1], (1, 2)),
    "some columns": (lambda x, n: (x * 1)[:, n - 1 : n], (2, 3, 1)),
    "the first columns": (lambda x, n: (x * 1)[:, :n], (2, 3)),
    "each so many columns": (lambda x, n: (x * 1)[:, ::n], (2, 3)),
    "a part of a part": (lambda x, n: (x * 1)[n:][:, 1], (1, 2)),
    "norm": (lambda x, n: (x + 1).norm(n), (4, 3, 2)),
    "vector_norm": (lambda x, n: weft.linalg.vector_norm(x + 1, n / 2), (5, 3)),
    "dist": (lambda x, n: weft.dist(x, x * 2 + 1, n / 2), (5, 3)),
}


@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
@pytest.mark.parametrize("name", CASES)
def test_gradients(name, backend):
    f, numbers = CASES[name]
    compiled = weft.compile(f, backend=backend, dynamic=True)
    for rows, n in enumerate(numbers, 4):
        x, y = (weft.arange(rows * 5.0).view(rows, 5).requires_grad_() for _ in range(2))
        got, want = compiled(x, n), f(y, n)
        weft.testing.assert_close(got, want)
        weights = weft.arange(1.0, want.numel() + 1).view(want.shape)
        for result in (got, want):
            (result * weights).sum().backward()
        weft.testing.assert_close(x.grad, y.grad)
