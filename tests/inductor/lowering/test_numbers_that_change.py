"""Arguments of ops that are numbers which change from call to call: orders, offsets, exponents, sizes left open."""

import pytest

import weft
from weft.nn import functional as F
from weft.special import polygamma

CASES = {
    "diagonal": (lambda x, n: (x * 1).diagonal(n) + 0, (4, 3, 2, -2, 0)),
    "diag": (lambda x, n: weft.diag(x[0] * 1, n), (4, 3, -2, -3)),
    "diagonal_scatter": (lambda x, n: x.diagonal_scatter(x[0, : x.diagonal(n).shape[0]], n), (3, 2, -2, -3)),
    "polygamma": (lambda x, n: polygamma(n, x + 1), (4, 3, 2)),
    "matrix_power": (lambda x, n: weft.linalg.matrix_power((x * 0.1) @ x.t(), n), (4, 3, 5)),
    "powers of integers": (lambda x, n: x.int() ** n, (4, 3, -2, -3, 2)),
    "powers of numbers": (lambda x, n: n ** (x * 0.1) + (n / 2) ** x[:1], (4, 3, 2)),
    "expand": (lambda x, n: x.unsqueeze(0).expand(n, -1, -1) + 0, (4, 3, -1, -2)),
    "batch_norm of one": (lambda x, n: F.batch_norm(x[n:], None, None, training=True), (1, 2, 3)),
    "group_norm of one": (lambda x, n: F.group_norm(x[n:, :1], 1), (1, 2, 3)),
    "instance_norm of one": (lambda x, n: F.instance_norm(x[None, :, n:]), (1, 2, 4)),
    "pooling to a size": (lambda x, n: F.adaptive_avg_pool1d(x, n), (3, 2, -1, -2)),
    "expand an existing dim": (lambda x, n: x.expand(n, 5) * 2, (4, -1, -2, -1)),
}


def told(f, *args):
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("backend", ["inductor", "eager"])
@pytest.mark.parametrize("name", CASES)
def test_numbers_that_change(name, backend):
    f, numbers = CASES[name]
    compiled = weft.compile(f, backend=backend, dynamic=True)
    x = weft.arange(20.0).view(4, 5)
    for n in numbers:
        got, want = told(compiled, x, n), told(f, x, n)
        if isinstance(want, tuple):
            assert got == want
        else:
            weft.testing.assert_close(got, want)
