"""Norms of one value per channel, of mixed dtypes, and what the native ones keep. Expected: PyTorch 2.13 on a CPU."""

import math

import pytest

import weft
from weft.nn import functional as F

FLAGS = (True, 0.1, 1e-5, False)
NONE = (None, None)


def _compiled(function):
    weft.compiler.reset()
    return weft.compile(function, fullgraph=True)


EITHER = pytest.mark.parametrize("way", [lambda f: f, _compiled], ids=["eager", "compiled"])


@EITHER
def test_functions_of_the_top_level_take_one_value_per_channel(way):
    x, mean, var = weft.tensor([[1.0, 2.0]], requires_grad=True), weft.zeros(2), weft.ones(2)
    y = way(lambda x, mean, var: weft.batch_norm(x, *NONE, mean, var, *FLAGS))(x, mean, var)
    assert y.tolist() == [[0.0, 0.0]] and mean.tolist() == pytest.approx([0.1, 0.2]) and var.isnan().all()
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]]
    assert way(lambda x: weft.group_norm(x, 2))(x).tolist() == [[0.0, 0.0]]
    assert way(lambda x: weft.instance_norm(x, *NONE, *NONE, *FLAGS))(x).tolist() == [[0.0, 0.0]]
    y, mean, inverse = way(lambda x: weft.native_batch_norm(x, *NONE, *NONE, True, 0.1, 1e-5))(x)
    assert y.tolist() == [[0.0, 0.0]] and mean.tolist() == [1.0, 2.0] and inverse.tolist() == pytest.approx([316.2278] * 2)
    assert way(lambda x: weft.native_group_norm(x, *NONE, 1, 2, 1, 2, 1e-5))(x)[1].tolist() == [[1.0, 2.0]]
    for function in (lambda: F.group_norm(x, 2), lambda: F.batch_norm(x, *NONE, training=True)):
        with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
            way(function)()


def test_what_native_norms_keep():
    x = weft.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    calls = {
        weft.native_batch_norm: (*NONE, *NONE, True, 0.1, 1e-5),
        weft.native_group_norm: (*NONE, 2, 2, 1, 1, 1e-5),
        weft.native_layer_norm: ([2], *NONE, 1e-5),
    }
    for call, rest in calls.items():
        group = call is weft.native_group_norm
        assert [t.requires_grad for t in call(x, *rest)] == [True, group, group]
    half, w = x.detach().half(), weft.ones(2)
    for found in (
        weft.native_batch_norm(half, w, w, *NONE, True, 0.1, 1e-5),
        weft.native_batch_norm(half, *NONE, w.clone(), w.clone(), True, 0.1, 1e-5),
        weft.native_group_norm(half, w, w, 2, 2, 1, 1, 1e-5),
        weft.native_layer_norm(half, [2], w, w, 1e-5),
    ):
        assert [t.dtype for t in found] == [weft.float16, weft.float32, weft.float32]
    assert weft.native_batch_norm(half, *NONE, *NONE, True, 0.1, 1e-5)[1].dtype is weft.float16
    for _, mean, inverse in (
        weft.native_group_norm(weft.ones(2, 2, 0), *NONE, 2, 2, 0, 1, 1e-5),
        weft.native_layer_norm(weft.ones(2, 0), [0], *NONE, 1e-5),
    ):
        assert mean.tolist() == [[0.0], [0.0]] and inverse.isnan().all()


@EITHER
def test_statistics_of_instances_have_the_dtype_of_the_input(way):
    x, mean, var = weft.tensor([[[1 / 3, 2 / 7]]], dtype=weft.float64), weft.zeros(1), weft.ones(1)
    y = way(lambda x: F.instance_norm(x, mean, var, use_input_stats=False))(x)
    assert y[0, 0, 0].item() == pytest.approx(1 / 3 / math.sqrt(1 + 1e-5), rel=1e-14)
    mean, var = weft.zeros(2), weft.ones(2)
    way(lambda x, mean, var: F.instance_norm(x, mean, var))(weft.ones(2, 2, 0), mean, var)
    assert mean.tolist() == [0.0, 0.0] and var.tolist() == [1.0, 1.0]


X, M, V = weft.ones(2, 2), weft.zeros(2), weft.ones(2)
REFUSED = (
    (lambda: F.batch_norm(X.half(), M, V.double()), RuntimeError, "expect parameter to have scalar type of Float"),
    (lambda: F.batch_norm(X.double(), M, V), RuntimeError, "all inputs must share same datatype"),
    (lambda: F.batch_norm(X.half(), M.half(), V), RuntimeError, "expected scalar type Half but found Float"),
    (lambda: F.batch_norm(X, M.long(), V.long(), training=True), RuntimeError, "mixed dtype"),
    (lambda: F.batch_norm(X, M, None, training=True), ValueError, "must either both be None or neither be None"),
    (lambda: F.batch_norm(X, None, V, training=True), ValueError, "must either both be None or neither be None"),
    (lambda: F.batch_norm(weft.tensor(1.0), M, V), RuntimeError, "running_mean should contain 0 elements not 2"),
    (lambda: F.batch_norm(M, M, V, training=True), RuntimeError, "running_mean should contain 0 elements not 2"),
    (lambda: F.instance_norm(weft.ones(2, 3, 2), M, V), RuntimeError, "running_mean should contain 6 elements not 4"),
    (lambda: F.instance_norm(weft.ones(2, 3, 2), *NONE, V), RuntimeError, "weight should contain 6 elements not 4"),
    (lambda: F.instance_norm(weft.ones(2, 3, 2), use_input_stats=False), RuntimeError, "when use_input_stats is false"),
    (lambda: F.instance_norm(weft.ones(2, 2, 2).double(), *NONE, V, M), RuntimeError, "all inputs must share same datatype"),
    (lambda: F.group_norm(X, -2), RuntimeError, "Expected num groups to be greater than 0, got -2"),
)


@EITHER
@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_refused(case, way):
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        way(call)()
