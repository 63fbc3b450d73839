"""Composites in place, and sums with an alpha, give the bits of the ops out of place, in one pass over the target's own memory."""

import numpy as np
import pytest

import weft
from aten import _native

F = weft.nn.functional
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64")
# In place, and out of place.
CALLS = {
    "lerp": (lambda x, y: x.lerp_(y, 0.25), lambda x, y: x.lerp(y, 0.25)),
    "lerp far": (lambda x, y: x.lerp_(y, 0.75), lambda x, y: x.lerp(y, 0.75)),
    "lerp by tensors": (lambda x, y: x.lerp_(y, y * y), lambda x, y: x.lerp(y, y * y)),
    "addcmul": (lambda x, y: x.addcmul_(y, y, value=2), lambda x, y: x.addcmul(y, y, value=2)),
    "addcdiv": (lambda x, y: x.addcdiv_(y, y * y + 1, value=2), lambda x, y: x.addcdiv(y, y * y + 1, value=2)),
    "clamp": (lambda x, y: x.clamp_(-1, 2), lambda x, y: x.clamp(-1, 2)),
    "clamp below": (lambda x, y: x.clamp_(min=0), lambda x, y: x.clamp(min=0)),
    "clamp above": (lambda x, y: x.clamp_(max=1), lambda x, y: x.clamp(max=1)),
    "clamp_min": (lambda x, y: x.clamp_min_(1), lambda x, y: x.clamp_min(1)),
    "clamp_max": (lambda x, y: x.clamp_max_(1), lambda x, y: x.clamp_max(1)),
    "nan_to_num": (lambda x, y: x.nan_to_num_(0.5, 2, -2), lambda x, y: x.nan_to_num(0.5, 2, -2)),
    "hardtanh": (lambda x, y: F.hardtanh_(x), lambda x, y: F.hardtanh(x)),
    "leaky_relu": (lambda x, y: F.leaky_relu_(x, 0.1), lambda x, y: F.leaky_relu(x, 0.1)),
    "elu": (lambda x, y: F.elu_(x), lambda x, y: F.elu(x)),
    "hardswish": (lambda x, y: F.hardswish(x, True), lambda x, y: F.hardswish(x)),
    "with itself": (lambda x, y: x.lerp_(x, 0.25), lambda x, y: x.lerp(x, 0.25)),
    "add": (lambda x, y: x.add_(y, alpha=3), lambda x, y: x + y * 3),
    "add of a float": (lambda x, y: x.add_(y, alpha=0.1), lambda x, y: x + y * 0.1),
    "sub": (lambda x, y: x.sub_(y, alpha=2), lambda x, y: x - y * 2),
    "add to itself": (lambda x, y: x.add_(x, alpha=3), lambda x, y: x + x * 3),
}


def made(dtype, sizes, seed):
    a = np.asarray(np.random.default_rng(seed).standard_normal(sizes) * 3)
    if a.size > 3 and dtype != "int64":
        a.flat[:3] = np.nan, np.inf, -0.0
    return weft.from_numpy(a).to(getattr(weft, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_bits_are_those_of_the_op_out_of_place(name, dtype):
    in_place, apart = CALLS[name]
    for sizes in ((5,), (3, 7000), (2, 70000), (0, 3), ()):
        x, y = made(dtype, sizes, 0), made(dtype, sizes, 1)
        memory = x.data_ptr()
        for turn in range(3):  # the first learns
            try:
                expected = apart(x, y)
            except (RuntimeError, TypeError, NotImplementedError) as e:
                with pytest.raises(type(e)):
                    in_place(x, y)
                break
            if expected.dtype is not x.dtype:
                with pytest.raises(RuntimeError):
                    in_place(x, y)
                break
            assert in_place(x, y) is x and x.data_ptr() == memory and x._version == turn + 1
            assert np.asarray(x.to(weft.float64)).tobytes() == np.asarray(expected.to(weft.float64)).tobytes()


@pytest.mark.parametrize("call", (lambda x, y: x.lerp_(y, 0.25), lambda x, y: x.add_(y, alpha=2), lambda x, y: x.clamp_(0, 1)))
def test_what_is_refused_is_refused(call):
    leaf = weft.ones(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        call(leaf, weft.zeros(3, 4))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor|unsupported operation"):
        call(weft.ones(3, 1).expand(3, 4), weft.zeros(3, 4))
    base = weft.ones(3, 4, requires_grad=True)
    x = base * 1
    call(x, weft.zeros(3, 4))
    x.sum().backward()
    assert base.grad is not None
    if "clamp_" not in call.__code__.co_names:  # (which reads no other)
        wide = weft.zeros(12)
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
            call(wide[0:8], wide[4:12])


def test_no_python_is_entered_again():
    x, y = weft.rand(64), weft.rand(64)
    for call in (lambda: x.lerp_(y, 0.25), lambda: x.add_(y, alpha=0.5), lambda: x.clamp_(0, 1), lambda: F.leaky_relu_(x)):
        call()
        _native.python_entries(True)
        call()
        assert not _native.python_entries(True)


SLICES = {
    "copy": (lambda x, d, i, v: x.index_copy_(d, i, v), lambda x, d, i, v: x.index_copy(d, i, v)),
    "fill": (lambda x, d, i, v: x.index_fill_(d, i, 2), lambda x, d, i, v: x.index_fill(d, i, 2)),
    "fill by one": (lambda x, d, i, v: x.index_fill_(d, i, weft.tensor(3)), lambda x, d, i, v: x.index_fill(d, i, weft.tensor(3))),
}


@pytest.mark.parametrize("name", SLICES)
def test_slices_are_written_where_they_are(name):
    in_place, apart = SLICES[name]
    for dtype in (*DTYPES, "bool", "complex64"):
        for dim, layout in ((0, "plain"), (-1, "plain"), (1, "turned"), (2, "stepped")):
            x = weft.arange(4 * 5 * 6).reshape(4, 5, 6).to(getattr(weft, dtype))
            x = x.transpose(0, 2) if layout == "turned" else x[:, :, ::2] if layout == "stepped" else x
            i = weft.tensor([2, 0])
            v = weft.ones_like(x).narrow(dim, 0, 2)
            expected, memory = apart(x.clone(), dim, i, v), x.data_ptr()
            assert in_place(x, dim, i, v) is x and x.data_ptr() == memory and x._version == 1 and x.equal(expected)
    x = weft.tensor(1.0)
    assert in_place(x, 0, weft.tensor([0]), weft.tensor(5.0)) is x and x.item() in (2.0, 3.0, 5.0)
    leaf = weft.ones(3, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        in_place(leaf, 0, weft.tensor([0]), weft.zeros(1, 2))
    x = leaf * 1
    in_place(x, 0, weft.tensor([1]), weft.zeros(1, 2))
    x.sum().backward()
    assert leaf.grad.tolist() == [[1, 1], [0, 0], [1, 1]]
    for wrong in ((0, weft.tensor([7])), (5, weft.tensor([0])), (0, weft.tensor([0.0]))):
        with pytest.raises((IndexError, RuntimeError)):
            in_place(weft.ones(3, 2), *wrong, weft.ones(1, 2))
    filled = name.startswith("fill")  # PyTorch's index_fill_ writes those, and warns
    told = pytest.warns(UserWarning, match="expanded") if filled else pytest.raises(RuntimeError, match="unsupported operation")
    with told:
        in_place(weft.ones(1, 2).expand(3, 2), 0, weft.tensor([0]), weft.ones(1, 2))


def test_a_number_is_no_target():
    for name in ("float_power_", "lerp_", "clamp_", "add_"):
        with pytest.raises((TypeError, AttributeError)):
            weft.ops.aten.__getattr__(name)(63, weft.ones(2))
