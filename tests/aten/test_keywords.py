"""Keywords by which PyTorch knows parameters besides their first names (native_functions.yaml and NumPy's)."""

import pytest

import weft as torch

X = torch.arange(1.0, 17.0).reshape(4, 4)
V = torch.tensor([0.5, 1.5])
CALLS = [
    (lambda: torch.pow(X, exponent=2), lambda: X**2),
    (lambda: torch.pow(2, exponent=X), lambda: 2**X),
    (lambda: X.clone().pow_(exponent=2), lambda: X**2),
    (lambda: torch.hsplit(X, sections=2)[1], lambda: X[:, 2:]),
    (lambda: X.vsplit(indices=[1])[1], lambda: X[1:]),
    (lambda: torch.tensor_split(X, sections=3)[0], lambda: X[:2]),
    (lambda: torch.isin(elements=X, test_element=1.0), lambda: X == 1),
    (lambda: torch.swapaxes(X, axis0=0, axis1=1), lambda: X.t()),
    (lambda: X.clone().swapaxes_(axis0=0, axis1=1), lambda: X.t()),
    (lambda: torch.sum(a=X), lambda: X.sum()),
    (lambda: torch.cholesky_solve(X, input2=torch.eye(4)), lambda: X),
    (lambda: torch.linalg.matrix_rank(input=torch.eye(3)), lambda: torch.tensor(3)),
    (lambda: torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), other=X[:2, :2]), lambda: X[:2, :2].reshape(4)),
    (lambda: torch.arange(end=3), lambda: torch.tensor([0, 1, 2])),
    (lambda: torch.arange(end=3, start=1), lambda: torch.tensor([1, 2])),
    (lambda: torch.randint(high=1, size=(2,)), lambda: torch.tensor([0, 0])),
    (lambda: X.clone().resize_(size=(2, 8)), lambda: X.reshape(2, 8)),
    (lambda: X.clone().resize_as_(the_template=X.reshape(2, 8)), lambda: X.reshape(2, 8)),
    (lambda: torch.hamming_window(4, True, 0.5, 0.5), lambda: torch.hann_window(4)),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_other_names(number):
    named, expected = CALLS[number]
    assert torch.allclose(named(), expected())
    torch._dynamo.reset()
    assert torch.allclose(torch.compile(lambda: named())(), expected())


def test_dtypes_by_keyword():
    assert torch.promote_types(type1=torch.float32, type2=torch.int64) is torch.float32
    assert torch.result_type(tensor=X, other=1) is torch.float32
    assert torch.finfo(type=torch.float16).bits == 16 and torch.iinfo(type=torch.int8).max == 127


def test_names_of_one_op_are_not_those_of_others():
    with pytest.raises(TypeError, match="unexpected keyword argument 'exponent'"):
        torch.add(X, exponent=2)
    with pytest.raises(TypeError, match="multiple values for argument 'exponent'"):
        torch.pow(X, 2, exponent=2)
    for factory, missing in ((torch.arange, "start"), (torch.randint, "low")):
        with pytest.raises(TypeError, match=f'missing 1 required positional arguments: "{missing}"'):
            factory(dtype=torch.int64)
    with pytest.raises(TypeError, match="multiple values for argument 'size'"):
        X.clone().resize_(4, 4, size=(2, 8))
