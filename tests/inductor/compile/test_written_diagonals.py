"""A diagonal of a result is written behind the copy of the rest; where something is computed of it, it is chosen by place."""

import pytest

import inductor
import weft

pytestmark = pytest.mark.usefixtures("own_cache")
DTYPES = ["float32", "bfloat16", "int64", "int8", "bool", "float64"]
CASES = {
    "embedded": (lambda x: weft.diag_embed(x), (7, 40)),
    "above": (lambda x: weft.diag_embed(x, offset=3), (40,)),
    "below": (lambda x: weft.diag_embed(x, offset=-2, dim1=0, dim2=2), (2, 40)),
    "turned": (lambda x: weft.diag_embed(x.t()), (40, 3)),
    "short": (lambda x: weft.diag_embed(x), (300, 5)),
    "empty": (lambda x: weft.diag_embed(x), (0, 40)),
    "nothing": (lambda x: weft.diag_embed(x, offset=20), (0,)),
    "scattered": (lambda x: weft.diagonal_scatter(x, x[:, 0][:32] == 0, 5), (40, 37)),
    "scattered below": (lambda x: weft.diagonal_scatter(x, x[0, :35] == 0, -3), (38, 40)),
    "scattered of three": (lambda x: x.diagonal_scatter(x[0, :, :30].t(), 0, 1, 2), (30, 30, 31)),
    "scattered of columns": (lambda x: weft.diagonal_scatter(x.t(), x[:30, 3], 0), (40, 30)),
    "flattened": (lambda x: weft.diagflat(x), (40,)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_equal_those_of_eager(name, dtype):
    f, sizes = CASES[name]
    x = weft.randint(0, 90, sizes).to(getattr(weft, dtype))
    got, expected = weft.compile(f, fullgraph=True)(x), f(x)
    assert got.dtype == expected.dtype and got.stride() == expected.stride() and weft.equal(got, expected)


def kernels(f, *args):
    """The kernels of a call, whose result is that of eager."""
    before = inductor.counters["kernels"]
    assert weft.equal(weft.compile(f, fullgraph=True)(*args), f(*args))
    return inductor.counters["kernels"] - before


def test_what_is_computed_of_a_diagonal_matrix_is_one_loop():
    x, y = weft.randn(40), weft.randn(40, 40)
    assert kernels(lambda x, y: weft.diag_embed(x) + y, x, y) == 1
    assert kernels(lambda x: weft.diag_embed(x.exp()), x) == 2
    assert kernels(lambda x: weft.diag_embed(x), weft.randn(300, 5)) == 2


def test_a_diagonal_of_an_input_is_written_into_it():
    x = weft.randn(40, 40)
    y = x.clone()

    def f(x):
        x.diagonal().mul_(2)

    weft.compile(f, fullgraph=True)(x)
    f(y)
    assert weft.equal(x, y)


@pytest.mark.parametrize("offset", [0, 2, -3])
def test_gradients_of_diagonals(offset):
    def f(x):
        return weft.autograd.grad(x.diagonal(offset).exp().sum(), x)[0]

    x = weft.randn(40, 50, requires_grad=True)
    compiled = weft.compile(lambda x: x.diagonal(offset).exp().sum(), fullgraph=True)
    assert weft.allclose(weft.autograd.grad(compiled(x), x)[0], f(x))


def test_of_any_size():
    f = weft.compile(lambda x: weft.diag_embed(x, offset=1), fullgraph=True, dynamic=True)
    for n in (40, 3, 70):
        x = weft.randn(n)
        assert weft.equal(f(x), weft.diag_embed(x, offset=1))
