"""Ops called on tensors of a device: kernels of one op, made once for their kind of arguments."""

import warnings

import numpy as np
import pytest

import weft
from inductor.counters import counters
from inductor.cuda import eager

F = weft.nn.functional


@pytest.fixture(autouse=True)
def forgotten():
    """No kind is compiled before, none left behind."""
    eager._programs.clear()
    eager.on_the_host.clear()
    yield
    eager._programs.clear()
    eager.on_the_host.clear()


def floats(*sizes, seed=0):
    return weft.from_numpy(np.random.default_rng(seed).normal(size=sizes).astype("f4"))


def equal(got, want, tolerance=1e-5):
    assert got.device.type == "cuda" and got.shape == want.shape and got.dtype is want.dtype and got.stride() == want.stride()
    np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=tolerance, atol=tolerance)


OPS = {
    "add": lambda x: x + x,
    "number": lambda x: 2 - x * 0.5,
    "broadcast": lambda x: x + x[0],
    "view": lambda x: x.t()[1:] * 2,
    "contiguous": lambda x: x.t().contiguous(),
    "gelu": F.gelu,
    "softmax": lambda x: F.softmax(x, -1),
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(),
    "argmax": lambda x: x.argmax(1),
    "matmul": lambda x: x @ x.t(),
    "cat": lambda x: weft.cat([x, x], 0),
    "compare": lambda x: x > 0.5,
    "sum of truth values": lambda x: ((x > 0) + (x < 9)) * (x < 1),
    "where": lambda x: weft.where(x > 0, x, -x),
    "cast": lambda x: x.to(weft.int64),
    "layer norm": lambda x: F.layer_norm(x, (x.shape[1],)),
    "several": lambda x: x.max(1).values,
}


@pytest.mark.parametrize("name", OPS)
def test_ops_equal_those_of_the_cpu(device, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none of these goes through the host
        x = floats(6, 20)
        equal(OPS[name](x.to(device)), OPS[name](x), 1e-4)


def test_one_kernel_serves_all_sizes(device):
    x, y = floats(6, 20), floats(7, 31)
    a, b = x.to(device), y.to(device)
    equal(a * a, x * x)
    before = counters["lowerings"]
    equal(b * b, y * y)
    assert counters["lowerings"] == before


NUMBERS = {
    "float": (lambda x, n: x * n, (0.1, 0.2, -3.5, 0.0, -0.0, 1.0, 1e30)),
    "reflected": (lambda x, n: n - x, (0.1, 0.2, 7.0)),
    "int with floats": (lambda x, n: x / n, (2, 3, -7, 2**40 + 1)),
    "int with ints": (lambda x, n: x.long() * n, (2, 3, -7, 0, 2**40 + 1)),
    "floor": (lambda x, n: x.long() // n, (2, 3, -7)),
    "int with bytes": (lambda x, n: x.abs().to(weft.uint8) + n, (2, 3, 250)),
    "comparison": (lambda x, n: x > n, (0.1, 0.2, -3.5)),
    "clamp": (lambda x, n: x.clamp(-n, n), (0.5, 0.25, 1.0)),
    "where": (lambda x, n: weft.where(x > 0, x, n), (0.5, 0.25)),
    "half": (lambda x, n: x.half() * n, (0.1, 0.2, 1e-5)),
    "bfloat16": (lambda x, n: x.bfloat16() + n, (0.1, 0.2, 3.0)),
    "double": (lambda x, n: x.double() * n, (0.1, 0.2, 1e-300)),
    "leaky_relu": (lambda x, n: F.leaky_relu(x, n), (0.1, 0.2)),
    "in place": (lambda x, n: x.clone().mul_(n).add_(x, alpha=n), (0.1, 0.2)),
    "sgd": (lambda x, n: x.addcmul(x, x, value=n).lerp(x, n), (0.1, 0.2, 0.3)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_one_kernel_serves_all_numbers(device, name):
    f, (first, *others) = NUMBERS[name]
    x = floats(6, 20)
    a = x.to(device)
    equal(f(a, first), f(x, first), 1e-6)
    before = counters["lowerings"]
    for n in others:
        got, want = f(a, n), f(x, n)
        equal(got, want, 1e-6)
        assert np.array_equal(np.signbit(got.cpu().double().numpy()), np.signbit(want.double().numpy()))
    assert counters["lowerings"] == before


@pytest.mark.parametrize("n", [float("nan"), float("inf"), -float("inf"), True, 2**63 - 1])
def test_numbers_that_are_no_symbols(device, n):
    x = floats(6, 20)
    equal(x.to(device) * n, x * n)


def test_settings_of_an_op_are_no_operands(device):
    x = floats(6, 20)
    for decimals in (0, 1, 2):
        equal(x.to(device).round(decimals=decimals), x.round(decimals=decimals))


def test_exponents_are_no_operands(device):
    x = floats(6, 20).long()
    for n in (0, 1, 2, 3, 5):
        equal(x.to(device) ** n, x**n)
    with pytest.raises(RuntimeError, match="negative integer powers"):
        x.to(device) ** -1
    y = floats(6, 20).abs()
    for n in (0.5, -0.5, 2.0, 2.5):
        equal(y.to(device) ** n, y**n)


def test_a_number_divides_integers_by_zero_as_on_the_cpu(device):
    x = floats(6, 20).long()
    x.to(device) // 3
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        x // 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (x.to(device) // 0).cpu()


def test_writes_in_place(device):
    x = floats(6, 20)
    a = x.to(device)
    a.mul_(2).add_(1)
    a[1:3].zero_()
    a.t()[2].copy_(weft.ones(6).to(device))
    a[:, 5] = 7
    want = x.clone().mul_(2).add_(1)
    want[1:3].zero_()
    want.t()[2].copy_(weft.ones(6))
    want[:, 5] = 7
    equal(a, want)


def test_gradients(device):
    x, w = floats(5, 8), floats(8, 3, seed=1)
    a, b = x.to(device).requires_grad_(), w.to(device).requires_grad_()
    F.gelu(a @ b).sum().backward()
    x.requires_grad_(), w.requires_grad_()
    F.gelu(x @ w).sum().backward()
    equal(a.grad, x.grad, 1e-4)
    equal(b.grad, w.grad, 1e-4)


def test_what_loops_cannot_compute_goes_through_the_host(device):
    x = floats(5, 4)
    with pytest.warns(UserWarning, match="matrix_exp has no kernel on cuda"):
        got = weft.linalg.matrix_exp(x[:4].to(device))
    equal(got, weft.linalg.matrix_exp(x[:4]))


def test_wrong_arguments_are_told_as_on_the_cpu(device):
    x = floats(5, 4)
    with pytest.raises(RuntimeError) as plain:
        x @ x
    with pytest.raises(RuntimeError) as away:
        x.to(device) @ x.to(device)
    assert str(plain.value) == str(away.value)


def test_places_that_count_downwards(device):
    x = floats(4, 3)
    a = x.to(device)
    equal(weft.cross(a, a + 1), weft.cross(x, x + 1))
    equal(a.roll(-1, 1), x.roll(-1, 1))
    equal(a.flip(0), x.flip(0))


def test_places_that_are_counted_on_the_host(device):
    x = floats(5)
    a = x.to(device)
    equal(weft.combinations(a), weft.combinations(x))
    equal(weft.combinations(a, 3, with_replacement=True), weft.combinations(x, 3, with_replacement=True))
    equal(a[[0, 3, -1]], x[[0, 3, -1]])
    equal(a[weft.tensor([4, 1])], x[weft.tensor([4, 1])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # index_put goes through the host
        a[[1, 2]] = 5
    x[[1, 2]] = 5
    equal(a, x)


def test_rows_without_elements(device):
    x = floats(2, 0)
    a = x.to(device)
    for f in (lambda t: t.sum(1), lambda t: t.cumprod(1), lambda t: t.prod(1)):
        equal(f(a), f(x))


def test_complex_numbers_are_written_in_place(device):
    x = floats(4, 3) + 1j * floats(4, 3, seed=1)
    a, b = x.to(device), x.clone()
    b.t()[1].copy_(b.t()[0].clone())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # through the host: complex numbers are no loop's
        a.t()[1].copy_(a.t()[0].clone())
    np.testing.assert_allclose(a.cpu().numpy(), b.numpy())


@pytest.mark.parametrize("dim", [0, 1])
def test_many_tensors_are_joined_on_the_device(device, dim):
    tensors = [floats(*sizes) for sizes in ([(k % 3, 4), (4, k % 3)][dim] for k in range(30))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal(weft.cat([t.to(device) for t in tensors], dim), weft.cat(tensors, dim))
        equal(weft.stack([t.to(device) for t in tensors[1::3]]), weft.stack(tensors[1::3]))


def put(x, *places, value):
    x = x.clone()
    x[places] = value if isinstance(value, (int, float, bool)) else value.to(x.dtype)
    return x


PLACED = {
    "one dim": lambda x, i: put(x, i, value=x[:3] * 2),
    "a number": lambda x, i: put(x, i, value=7.0),
    "two dims": lambda x, i: put(x, i, i + 1, value=x[0, :3]),
    "behind": lambda x, i: put(x, slice(None), i, value=x[:, :3] - 1),
    "apart": lambda x, i: put(x[:, :, None].repeat(1, 1, 5), i, slice(None), i, value=3.0),
    "from behind": lambda x, i: put(x, i - 5, value=x[:3] + 1),
    "integers": lambda x, i: put(x.long(), i, value=4),
    "truth values": lambda x, i: put(x > 0, i, value=True),
    "halves": lambda x, i: put(x.half(), i, value=x[3:6]),
    "scatter": lambda x, i: x.scatter(1, i.expand(x.shape[0], 3), x),
    "scatter a number": lambda x, i: x.scatter(0, i[None], 5.0),
    "index_add": lambda x, i: x.index_add(0, i, x[:3]),
    "accumulate": lambda x, i: x.index_put((i,), x[:3], accumulate=True),
}


@pytest.mark.parametrize("name", PLACED)
def test_elements_are_put_in_place_on_the_device(device, name):
    x, i = floats(6, 20), weft.tensor([4, 0, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal(PLACED[name](x.to(device), i.to(device)), PLACED[name](x, i))


def test_memory_read_in_another_dtype(device):
    host = weft.arange(24, dtype=weft.float32).reshape(2, 3, 4)
    x = host.to(device)
    for dtype in (weft.int32, weft.int16, weft.float64, weft.uint8):
        y, want = x.view(dtype), host.view(dtype)
        assert (y.shape, y.stride(), y.tolist()) == (want.shape, want.stride(), want.tolist())
    assert x[1:].view(weft.int64).tolist() == host[1:].view(weft.int64).tolist()
    with pytest.raises(RuntimeError, match="divisible by 2"):
        x.reshape(-1)[1:21].view(weft.float64)
    x.view(weft.int32).zero_()
    assert x.cpu().eq(0).all()
