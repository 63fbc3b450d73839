"""Construction from data, printing, Parameter, copying and pickling, scalars."""

import copy
import operator
import pickle
import warnings

import numpy as np
import pytest

from aten import _native
from aten import dtype as dtypes
from aten.tensor import Parameter, Tensor, as_tensor, tensor


@pytest.mark.parametrize("data, dtype, sizes", [
    (1, dtypes.int64, ()), (1.5, dtypes.float32, ()), (True, dtypes.bool, ()), (1j, dtypes.complex64, ()),
    ([1, 2.5], dtypes.float32, (2,)), ([True, 2], dtypes.int64, (2,)), ([[1], [2]], dtypes.int64, (2, 1)),
    ([], dtypes.float32, (0,)), ([[], []], dtypes.float32, (2, 0)), (np.float64(1), dtypes.float64, ()),
    (np.array([1, 2], np.int16), dtypes.int16, (2,)), ([np.array([1.0])], dtypes.float64, (1, 1)),
])
def test_dtypes_of_data(data, dtype, sizes):
    t = tensor(data)
    assert (t.dtype, t.shape) == (dtype, sizes)


def test_a_given_dtype_wins():
    assert tensor([1, 2], dtype=dtypes.float16).tolist() == [1.0, 2.0]
    assert tensor([1.7, -1.7], dtype=dtypes.int32).tolist() == [1, -1]
    assert tensor([1, 0], dtype=dtypes.bool).tolist() == [True, False]


@pytest.mark.parametrize("data, error, message", [
    ([[1, 2], [3]], ValueError, "expected sequence of length 2 at dim 1"),
    ("text", TypeError, "invalid data type 'str'"),
    ([2**70], ValueError, "Overflow"),
    ([[1, 2], 3], TypeError, "expected a sequence"),
    ([object()], RuntimeError, "Could not infer dtype of object"),
    ([3, None], RuntimeError, "Could not infer dtype of NoneType"),
    ([2**70, None], RuntimeError, "Could not infer dtype of NoneType"),
    ([[1.5], [None]], RuntimeError, "Could not infer dtype of NoneType"),
    ([tensor(1), None, object(), {}], RuntimeError, "Could not infer dtype of NoneType"),
    ([tensor(1), {}, object(), None], RuntimeError, "Could not infer dtype of dict"),
])
def test_bad_data(data, error, message):
    with pytest.raises(error, match=message):
        tensor(data)


def test_tensor_copies_and_as_tensor_shares():
    a = np.zeros(2)
    copied, shared = tensor(a), as_tensor(a)
    a[0] = 1
    assert copied.tolist() == [0, 0] and shared.tolist() == [1, 0]
    assert as_tensor(shared) is shared


@pytest.mark.parametrize("t, text", [
    (tensor([1.0, 2.0, 3.5]), "tensor([1.0000, 2.0000, 3.5000])"),
    (tensor([1.0, 20.0]), "tensor([ 1., 20.])"),
    (tensor(3.0), "tensor(3.)"),
    (tensor([[1, -2], [3, 4]]), "tensor([[ 1, -2],\n        [ 3,  4]])"),
    (tensor([True, False]), "tensor([ True, False])"),
    (tensor([1e-8, 1.0]), "tensor([1.0000e-08, 1.0000e+00])"),
    (tensor([1.0, float("nan"), float("inf")]), "tensor([1., nan, inf])"),
    (tensor([]), "tensor([])"),
    (_native.empty((0, 3)), "tensor([], size=(0, 3))"),
    (tensor([1.5], dtype=dtypes.bfloat16), "tensor([1.5000], dtype=weft.bfloat16)"),
    (tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
    (tensor(np.arange(2000.0)), "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n"
                                "        1.9990e+03], dtype=weft.float64)"),
])
def test_printing(t, text):
    assert repr(t) == text


def test_parameter():
    p = Parameter(tensor([1.0, 2.0]))
    assert isinstance(p, Tensor) and p.requires_grad and p.is_leaf and p.grad_fn is None
    assert repr(p) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    with pytest.raises(RuntimeError, match="floating point"):
        Parameter(tensor([1]))
    assert not Parameter(tensor([1]), requires_grad=False).requires_grad


def test_copies():
    p = Parameter(tensor([[1.0, 2.0], [3.0, 4.0]]))
    p.note = ["x"]
    p.grad = tensor([[1.0, 1.0], [1.0, 1.0]])
    pair = [p, p]
    q, r = copy.deepcopy(pair)
    assert q is r and type(q) is Parameter and not hasattr(q, "note") and q.grad is None
    assert q.data_ptr() != p.data_ptr() and q.tolist() == p.tolist()
    x = tensor([1.0])
    x.note = ["x"]
    y = copy.deepcopy(x)
    assert y.note == ["x"] and y.note is not x.note
    assert copy.copy(p).data_ptr() == p.data_ptr()
    s = pickle.loads(pickle.dumps(p))
    assert type(s) is Parameter and s.tolist() == p.tolist() and s.requires_grad and s.note == ["x"]
    assert pickle.loads(pickle.dumps(dtypes.float32)) is dtypes.float32
    assert pickle.loads(pickle.dumps(dtypes.device("cuda:1"))) == dtypes.device("cuda", 1)
    assert pickle.loads(pickle.dumps(p.shape)) == (2, 2)


def test_scalars():
    assert tensor(2.5).item() == 2.5 and int(tensor(7)) == 7 and float(tensor(7)) == 7.0
    assert bool(tensor([0.0])) is False
    assert [10, 20, 30][tensor(1)] == 20
    assert f"{tensor(1.23456):.2f}" == "1.23"
    with pytest.raises(RuntimeError, match="with 2 elements cannot be converted to Scalar"):
        tensor([1, 2]).item()
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(tensor([1, 2]))
    with pytest.raises(TypeError, match="index"):
        [1][tensor(0.0)]
    with pytest.raises(TypeError, match="0-d"):
        len(tensor(1))
    assert len(tensor([1, 2, 3])) == 3


def test_attributes():
    t = _native.empty((2, 3, 4))
    assert (t.size(), t.size(-1), t.stride(), t.stride(0)) == ((2, 3, 4), 4, (12, 4, 1), 12)
    assert (t.ndim, t.dim(), t.numel(), t.itemsize, t.nbytes, t.element_size()) == (3, 3, 24, 4, 96, 4)
    assert t.shape.numel() == 24 and repr(t.shape) == "weft.Size([2, 3, 4])" and type(t.shape[1:]) is type(t.shape)
    assert str(t.device) == "cpu" and t.is_cpu and not t.is_cuda
    with pytest.raises(IndexError, match=r"range of \[-3, 2\], but got 3"):
        t.size(3)
    wide = _native.empty((1,) * 8)
    assert wide.shape == (1,) * 8


def test_requires_grad():
    t = tensor([1.0])
    assert t.requires_grad_() is t and t.requires_grad
    t.requires_grad_(requires_grad=False)
    assert not t.requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        tensor([1]).requires_grad_()


def test_grad_is_checked():
    t = tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="different size"):
        t.grad = tensor([1.0])
    with pytest.raises(RuntimeError, match="different type"):
        t.grad = tensor([1, 2])
    with pytest.raises(TypeError):
        t.grad = 3
    t.grad = tensor([3.0, 4.0])
    t.grad = None
    assert t.grad is None


def test_data_can_be_replaced():
    t = tensor([1.0, 2.0], requires_grad=True)
    t.data = tensor([3.0, 4.0, 5.0])
    assert t.shape == (3,) and t.requires_grad


@pytest.mark.parametrize("method", ["__index__", "__float__", "__int__"])
def test_objects_that_could_be_numbers_are_no_operands(method):
    """What PyTorch 2.13 says."""
    other, x = type("Other", (), {method: lambda self: 1})(), tensor([1.0, 1.0])
    assert (x == other, x != other, other == x) == (False, True, False)
    for function, symbol in ((operator.mul, r"\*"), (operator.add, r"\+"), (operator.lt, "<")):
        with pytest.raises(TypeError, match=f"{symbol}.*Tensor' and 'Other'"):
            function(x, other)
    taking = type("Taking", (), {method: lambda self: 1, "__rmul__": lambda self, tensor: "mine"})()
    assert x * taking == "mine"


def test_tensors_made_of_elements_with_history_are_new():
    x = tensor([1.0, 2.0], requires_grad=True)
    made = tensor([[x[1], x[1]], [x[0], x[0]]])
    assert made.tolist() == [[2, 2], [1, 1]] and not made.requires_grad
    x._grad = tensor([3.0, 4.0])
    assert x.grad.tolist() == [3, 4] and x._grad is x.grad


def test_split_takes_the_names_of_the_function_and_of_the_method():
    x = tensor([0, 1, 2, 3, 4])
    assert [p.tolist() for p in x.split(split_size=2)] == [p.tolist() for p in x.split(split_size_or_sections=2, dim=0)]
    assert [p.tolist() for p in x.split(split_size=[4, 1], dim=0)] == [[0, 1, 2, 3], [4]]


@pytest.mark.parametrize(
    ("a", "b", "words"),  # PyTorch 2.13's
    [
        ("uint8", "uint16", "uint16, uint32, uint64 types is not supported, attempted to promote Byte and UInt16"),
        ("uint16", "bool", "uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and Bool"),
        ("uint16", "complex64", "uint16, uint32, uint64 types is not supported, attempted to promote UInt16 and ComplexFloat"),
        ("float8_e5m2", "bool", "Float8 Types is not supported, attempted to promote Float8_e5m2 and Bool"),
    ],
)
def test_dtypes_that_promote_to_none_say_so(a, b, words):
    with pytest.raises(RuntimeError, match=f"Promotion for {words}"):
        _native.promote_types(getattr(dtypes, a), getattr(dtypes, b))
    assert _native.promote_types(dtypes.uint32, dtypes.float32) is dtypes.float32


@pytest.mark.parametrize("make", [tensor, as_tensor])
def test_arrays_of_numbers_that_do_not_fit_are_cast_without_a_warning(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(np.array([1e9, 1.0]), dtype=dtypes.float16).tolist() == [float("inf"), 1.0]
        assert make(np.array([1e300]), dtype=dtypes.float32).tolist() == [float("inf")]


def test_every_name_that_dir_gives_is_there():
    x = tensor([[1, 2j]])
    names = dir(x)
    assert "shape" in names and names == sorted(names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # (of names that are kept for old programs)
        assert [n for n in names if not hasattr(x, n)] == []
