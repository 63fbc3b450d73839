"""Bad input: compiled code raises eager's own error, class and message, and the process lives on."""

import numpy as np
import pytest

import weft
from weft.nn import functional as F


def read_only():
    a = np.ones(3, np.float32)
    a.flags.writeable = False
    return weft.from_numpy(a)


i64 = lambda *values: weft.tensor(values)
ones = weft.ones

# what is called, what it is called with, the error's class and words that its message has
CASES = {
    "sizes that do not broadcast": (lambda a, b: a + b, (ones(3), ones(4)), RuntimeError, "size"),
    "matrices that do not fit": (lambda a, b: a @ b, (ones(3, 4), ones(5, 6)), RuntimeError, "cannot be multiplied"),
    "matrices of two dtypes": (lambda a, b: a @ b, (ones(3, 4), ones(4, 6, dtype=weft.float64)), RuntimeError, "dtype"),
    "embedding out of range": (F.embedding, (i64(1, 9), ones(4, 2)), IndexError, "index out of range"),
    "index out of range": (lambda x, i: x[i] * 2, (ones(4), i64(1, 9)), IndexError, "index 9 is out of bounds"),
    "negative index out of range": (lambda x, i: x[i] * 2, (ones(4), i64(-5)), IndexError, "index -5 is out of bounds"),
    "gather out of range": (
        lambda x, i: x.gather(0, i) + 1,
        (ones(4), i64(1, 9)),
        RuntimeError,
        "index 9 is out of bounds",
    ),
    "dim out of range": (lambda x: x.sum(3), (ones(4),), IndexError, "Dimension out of range"),
    "softmax over a dim it lacks": (lambda x: x.softmax(5), (ones(4, 2),), IndexError, "Dimension out of range"),
    "division of integers by zero": (lambda a, b: a // b, (i64(1, 2), i64(1, 0)), RuntimeError, "ZeroDivisionError"),
    "remainder of integers by zero": (lambda a, b: a % b, (i64(1, 2), i64(1, 0)), RuntimeError, "ZeroDivisionError"),
    "a leaf written in place": (lambda x: x.add_(1), (ones(3, requires_grad=True),), RuntimeError, "a leaf Variable"),
    "a view of another size": (lambda x: x.view(7), (ones(2, 3),), RuntimeError, "invalid for input of size 6"),
    "sizes beyond 64 bits": (lambda x: weft.zeros(2**40, 2**40) + x, (ones(1),), RuntimeError, "overflow"),
    "more memory than there is": (lambda x: weft.zeros(2**45) + x, (ones(1),), MemoryError, "cannot allocate"),
    "read-only memory": (lambda x: x.add_(1), (read_only(),), RuntimeError, "read-only"),
    "an expanded tensor written": (lambda x: x.add_(1), (ones(1).expand(3),), RuntimeError, "single memory location"),
    "an out= that overlaps itself": (
        lambda x, o: weft.add(x, 1, out=o),
        (ones(3), weft.zeros(4).as_strided((3,), (0,))),
        RuntimeError,
        "single memory location",
    ),
    "an out= of other sizes that overlaps itself": (
        lambda x, o: weft.add(x, 1, out=o),
        (ones(3), ones(3).expand(2, 3)),
        RuntimeError,
        "single memory location",
    ),
    "covariances of more than rows": (lambda x: x.cov(), (ones(2, 3, 4),), RuntimeError, "two or fewer dimensions"),
    "correlations of more than rows": (lambda x: x.corrcoef(), (ones(2, 3, 4),), RuntimeError, "two or fewer dimensions"),
    "a vector's adjoint": (lambda x: x.adjoint() + 1, (ones(2),), RuntimeError, "only supported on matrices"),
    "running integrals of bools": (weft.cumulative_trapezoid, (ones(2) > 0,), RuntimeError, "bool is not supported"),
    "squared differences of integers": (F.mse_loss, (i64(1), i64(2)), NotImplementedError, "mse_cpu"),
    "gradients of nothing": (lambda x: weft.autograd.grad(x.sum(), []), (ones(2, requires_grad=True),), RuntimeError, "empty"),
    "dims behind two ellipses": (lambda x: x[..., ..., 0], (ones(2, 3),), IndexError, "too many indices"),
    "an out= of a narrower dtype": (
        lambda x, o: weft.exp(x, out=o),
        (ones(2), weft.zeros(2, dtype=weft.int64)),
        RuntimeError,
        "can't be cast",
    ),
    "the maximum of nothing": (lambda x: x.max(), (ones(0),), RuntimeError, "numel"),
    "argmax of nothing": (lambda x: x.argmax(), (ones(0),), IndexError, "argmax"),
    "a string for a number": (lambda x: x + "a", (ones(3),), TypeError, "str"),
    "bools subtracted": (lambda x: x - x, (weft.tensor([True]),), RuntimeError, "bool"),
    "a class that is not there": (F.cross_entropy, (ones(2, 3), i64(0, 7)), IndexError, "out of bounds"),
    "a bias of another dtype": (
        F.conv2d,
        (ones(1, 1, 4, 4), ones(1, 1, 3, 3), ones(1, dtype=weft.float64)),
        RuntimeError,
        "bias type .* should be the same",
    ),
    "an adaptive pool of a matrix": (lambda x: F.adaptive_avg_pool2d(x, 2), (ones(2, 3),), RuntimeError, "Expected 3D or 4D"),
    "an adaptive maximum of a matrix": (lambda x: F.adaptive_max_pool2d(x, 2), (ones(2, 3),), RuntimeError, "Expected 3D or 4D"),
    "an adaptive pool of a row": (lambda x: F.adaptive_avg_pool1d(x, 2), (ones(3),), RuntimeError, "Expected 2 to 3 dim"),
    "a class that one_hot lacks": (lambda x: F.one_hot(x, 3), (i64(4),), RuntimeError, "smaller than num_classes"),
    "cat of other sizes": (
        lambda a, b: weft.cat([a, b]),
        (ones(2, 3), ones(2, 4)),
        RuntimeError,
        "Sizes of tensors must match",
    ),
    "layer_norm of another shape": (lambda x: F.layer_norm(x, (5,)), (ones(2, 3),), RuntimeError, "normalized_shape"),
    "a float put into integers": (lambda x: x.sqrt_(), (i64(4),), RuntimeError, "can't be cast"),
    "a negative repeat": (lambda x: x.repeat(-1), (ones(2),), RuntimeError, "negative dimension"),
    "two sizes to infer": (lambda x: x.reshape(-1, -1), (ones(2),), RuntimeError, "only one dimension can be inferred"),
    "negative weights": (
        lambda x: weft.multinomial(x, 1),
        (weft.tensor([-1.0, 2.0]),),
        RuntimeError,
        "probability tensor",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_eager_and_compiled_raise_the_same(name):
    function, arguments, kind, words = CASES[name]
    errors = []
    for f in (function, weft.compile(function)):
        with pytest.raises(kind, match=words) as caught:
            f(*arguments)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_nothing_is_written_before_a_check_fails():
    def f(x, i, table):
        x.add_(1)
        return table[i] * x

    x, table = weft.zeros(2), ones(4)
    for g in (f, weft.compile(f)):
        before = x.clone()
        with pytest.raises(IndexError):
            g(x, i64(0, 9), table)
        assert weft.equal(x, before + 1)  # as eager: the addition came first


def test_the_smallest_integer_divided_by_minus_one_wraps():
    f = weft.compile(lambda a, b: (a // b, a % b))
    q, r = f(i64(-(2**63)), i64(-1))
    assert q.tolist() == [-(2**63)] and r.tolist() == [0]


def test_backward_twice_is_refused():
    for f in (lambda x: (x * x).sum(), weft.compile(lambda x: (x * x).sum())):
        y = f(ones(2, requires_grad=True))
        y.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()


@pytest.mark.parametrize(
    "x", [weft.tensor(2.0), ones(0), ones(0, 3), ones(3, 0), ones(1, 1)], ids=lambda x: str(tuple(x.shape))
)
def test_zero_dims_and_empty_tensors(x):
    f = lambda x: (x.sum(), (x * 2).exp(), x.softmax(0) if x.ndim else x, x.reshape(-1).cumsum(0), (x + 1).prod())
    for a, b in zip(weft.compile(f)(x), f(x)):
        weft.testing.assert_close(a, b)
