"""Autocast: dtypes of results as PyTorch 2.13's (calls.py, run with it once), nesting, caching, capture."""

import threading
import warnings

import pytest

import weft
from tests.weft.amp.calls import CALLS, run
from weft import nn

EXPECTED = {
    "bfloat16": "linear matmul bmm addmm einsum conv1d conv_transpose1d prelu attention softmax layer_norm exp sum "
    "cumsum cat_low gelu max_pool1d norm pow chain matrix_power tensordot "
    "tensordot_by_dims pinv pad_reflect_3d pad_circular pad_constant lstm lstm_state rnn rnn_cell",
    "float32": "mv dot outer bilinear add mixed_add prod mse_loss cross_entropy nll_loss bce bce_logits kl_div cdist "
    "inverse svdvals cat stack embedding trace det huber where tensordot_of_all "
    "tensordot_of_all_by_dims pad_reflect pad_reflect_2d pad_replicate_3d",
    "complex64": "fft",
    "float64": "double",
}
EXPECTED = {name: dtype for dtype, names in EXPECTED.items() for name in names.split()}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_dtypes_are_pytorchs(dtype):
    assert run(weft, getattr(weft, dtype)) == {k: dtype if v == "bfloat16" else v for k, v in EXPECTED.items()}


def test_an_lstm_step_in_the_lower_dtype_stays_there():
    cell = nn.LSTMCell(3, 2)
    with weft.autocast("cpu"):
        assert {t.dtype for t in cell(weft.ones(4, 3, dtype=weft.bfloat16))} == {weft.bfloat16}
        assert {t.dtype for t in cell(weft.ones(4, 3))} == {weft.float32}  # as its state
        assert nn.GRU(3, 2)(weft.ones(4, 3))[0].dtype is weft.float32
        packed = nn.utils.rnn.pack_sequence([weft.ones(3, 3), weft.ones(2, 3)])
        assert nn.LSTM(3, 2)(packed)[0].data.dtype is weft.float32


@pytest.mark.parametrize("name", CALLS)
def test_captured_calls_have_the_same_dtypes(name):
    weft.compiler.reset()  # it is one function each time, and captured more often than the limit
    weft.manual_seed(0)
    x, m, b = weft.rand(4, 4), weft.rand(4, 4) + weft.eye(4), weft.rand(4, 4, 4)

    def f(x, m, b):
        with weft.autocast("cpu"):
            return CALLS[name](weft, nn.functional, x, m, b)

    if EXPECTED[name].endswith("Error"):
        return
    expected = f(x, m, b)
    got = weft.compile(f, backend="eager", fullgraph=True)(x, m, b)
    assert got.dtype is expected.dtype and weft.allclose(got, expected, equal_nan=True)
    with weft.autocast("cpu"):  # already on where it is called
        outside = weft.compile(lambda *a: CALLS[name](weft, nn.functional, *a), backend="aot_eager", fullgraph=True)(x, m, b)
    assert outside.dtype is expected.dtype and weft.allclose(outside.to(weft.complex64), expected.to(weft.complex64), 0.1, 0.1)


def test_nesting_and_what_is_left_behind():
    linear, x = nn.Linear(3, 3), weft.ones(2, 3)
    region = weft.autocast("cpu", dtype=weft.float16)
    with region:
        assert linear(x).dtype is weft.float16 and weft.is_autocast_enabled("cpu")
        with weft.autocast("cpu", enabled=False):
            assert linear(x).dtype is weft.float32 and not weft.is_autocast_cpu_enabled()
        with weft.autocast("cpu", dtype=weft.bfloat16), region:
            assert weft.get_autocast_dtype("cpu") is weft.float16
        assert weft.get_autocast_cpu_dtype() is weft.float16
        seen = []
        thread = threading.Thread(target=lambda: seen.append(linear(x).dtype))
        thread.start(), thread.join()
        assert seen == [weft.float32]
    with pytest.raises(ZeroDivisionError), region:
        raise ZeroDivisionError
    assert linear(x).dtype is weft.float32 and weft.get_autocast_dtype("cpu") is weft.bfloat16

    @weft.autocast("cpu")
    def f(x):
        return linear(x)

    assert f(x).dtype is weft.bfloat16 and f.__name__ == "f"


def test_a_parameter_is_cast_once_in_a_region():
    w = nn.Parameter(weft.ones(2, 2))
    for cache in (True, False):
        with weft.autocast("cpu", cache_enabled=cache):
            a, b = weft.ones(2, 2) @ w, weft.ones(2, 2) @ w
        casts = [t.grad_fn.next_functions[1][0] for t in (a, b)]
        assert (casts[0] is casts[1]) == cache
    (a + b).sum().backward()
    assert w.grad.dtype is weft.float32 and w.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_what_cannot_be_had():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        weft.autocast(weft.device("cpu"))
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        weft.autocast("meta")
    with pytest.warns(UserWarning, match="CUDA is not available. Disabling"), weft.autocast("cuda"):
        assert not weft.is_autocast_enabled("cuda")
    with pytest.warns(UserWarning, match="target dtype is not supported"), weft.autocast("cpu", dtype=weft.float32):
        assert not weft.is_autocast_enabled("cpu")
    with pytest.warns(FutureWarning, match="deprecated"), weft.cpu.amp.autocast():
        assert weft.is_autocast_enabled("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with weft.cuda.amp.autocast():
            assert weft.get_autocast_gpu_dtype() is weft.float16


def test_custom_functions():
    from weft.amp import custom_bwd, custom_fwd

    seen = []

    class Product(weft.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append(weft.is_autocast_enabled("cpu"))
            return g @ b.T, a.T @ g

    class InFloat32(Product):
        forward = staticmethod(custom_fwd(Product.forward.__wrapped__, device_type="cpu", cast_inputs=weft.float32))

    a, b = weft.ones(2, 2, requires_grad=True), weft.ones(2, 2, requires_grad=True)
    with weft.autocast("cpu"):
        out = Product.apply(a, b)
        kept = InFloat32.apply(a.bfloat16(), b)
    assert out.dtype is weft.bfloat16 and kept.dtype is weft.float32
    out.sum().backward(), kept.sum().backward()
    assert seen == [True, False] and a.grad.dtype is weft.float32


def test_training_compiled_is_training_eager():
    def step(model, x):
        with weft.autocast("cpu"):
            return nn.functional.mse_loss(model(x), x)

    weft.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 4)), weft.randn(5, 4)
    step(model, x).backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    weft.compile(step, fullgraph=True)(model, x).backward()
    for p, g in zip(model.parameters(), expected):
        assert p.grad.dtype is weft.float32 and weft.allclose(p.grad, g, rtol=0.05, atol=0.01)
