"""Sums and products asked for in a narrow dtype, norms of halves with wider weights, memory read in another dtype."""

import pytest

import weft


@pytest.mark.parametrize("dtype", [weft.bool, weft.uint8, weft.int8, weft.int16, weft.int32, weft.int64])
@pytest.mark.parametrize("name", ["sum", "prod", "nansum"])
def test_the_dtype_that_was_asked_for(name, dtype):
    x = weft.tensor([[3, 100, 100], [2, 0, 5]], dtype=weft.float32 if name == "nansum" else weft.int64)
    weft.compiler.reset()
    f = lambda x: getattr(weft, name)(x, 1, dtype=dtype)
    wide = getattr(weft, name.removeprefix("nan"))(x.to(dtype).long(), 1)
    for g in (f, weft.compile(f, fullgraph=True)):
        assert g(x).dtype is dtype and weft.equal(g(x), wide.to(dtype))


def test_group_norm_of_halves_with_wider_weights():
    x = weft.randn(2, 6, 5).to(weft.bfloat16)
    weight, bias = weft.rand(6), weft.rand(6)
    f = lambda x: weft.nn.functional.group_norm(x, 2, weight, bias)
    expected = f(x.float()).to(weft.bfloat16)
    assert weft.equal(f(x), expected) and weft.equal(weft.compile(f)(x), expected)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("dtype", [weft.int8, weft.int16, weft.float32, weft.float64])
def test_memory_in_another_dtype(dtype, backend):
    weft.compiler.reset()
    x = weft.arange(12, dtype=weft.int32).reshape(3, 4)
    f = lambda x: x.view(dtype) + 1
    assert weft.equal(weft.compile(f, backend=backend, fullgraph=True)(x), f(x))


def test_compiled_functions_of_meta_tensors():
    f = lambda: weft.empty(8, 3, device="meta").sin() + 1
    out = weft.compile(f, fullgraph=True)()
    assert out.is_meta and tuple(out.shape) == (8, 3)
