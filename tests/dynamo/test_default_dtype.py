"""set_default_dtype and set_default_device inside of captured functions: nodes run as they would have, and what is left is left."""

import threading

import pytest
from weft._dynamo.testing import CompileCounterWithBackend

import weft


@pytest.fixture(autouse=True)
def defaults():
    weft._dynamo.reset()
    yield
    weft.set_default_dtype(weft.float32)
    weft.set_default_device(None)


def between(x, i):
    before = weft.ones(2)
    weft.set_default_dtype(weft.float64)
    y = weft.ones(2) + (i / 2).sum() + weft.tensor([1.5, 2.5])
    dtype = weft.get_default_dtype()
    weft.set_default_dtype(weft.float32)
    return x + y, before, dtype, weft.zeros(1), i / 2


def left(x, i):
    weft.set_default_dtype(weft.float64)
    return i / 2, x.mean(), weft.tensor(1.0)


def refused(x, i):
    try:
        weft.set_default_dtype(weft.int32)
    except TypeError as e:
        return str(e), x + 1


def broken(x, i):
    weft.set_default_dtype(weft.float64)
    y = i / 2
    weft._dynamo.graph_break()
    return y, i / 2 + weft.ones(1)


def device_left(x, i):
    with weft.device("cpu"):
        weft.set_default_device("meta")
        y = weft.ones(2) + 1
    return y, weft.ones(2) * 2


def facts(result):
    tensors = (weft.float32, weft.float64)
    return [(v.dtype, v.device.type, v.tolist() if v.device.type == "cpu" else None) if isinstance(v, weft.Tensor) else v
            for v in result if not any(v is t for t in tensors)], [v for v in result if any(v is t for t in tensors)]  # fmt: skip


def in_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(weft.get_default_dtype()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("f", [between, left, refused, broken, device_left])
def test_as_in_plain_python(f, backend):
    x, i = weft.ones(2), weft.arange(4)
    expected = facts(f(x, i)), weft.get_default_dtype(), in_a_thread(), weft.get_default_device()
    weft.set_default_dtype(weft.float32)
    weft.set_default_device(None)
    compiled = weft.compile(f, backend=backend, fullgraph=f is not broken)
    assert (facts(compiled(x, i)), weft.get_default_dtype(), in_a_thread(), weft.get_default_device()) == expected


def test_where_it_changes_is_shown_and_counted():
    counter = CompileCounterWithBackend("eager")

    def f(x):
        weft.set_default_dtype(weft.float64)
        y = weft.ones(3)
        weft.set_default_dtype(weft.float32)
        return x + y

    assert weft.compile(f, backend=counter, fullgraph=True)(weft.ones(3)).dtype is weft.float64
    assert (counter.frame_count, counter.op_count) == (1, 4)


def test_modes_below_which_a_default_device_is_set():
    outer, inner = weft.overrides.BaseTorchFunctionMode(), weft.overrides.BaseTorchFunctionMode()
    with outer, inner:

        @weft.compile(backend="eager", fullgraph=True)
        def f(x):
            weft.set_default_device("meta")
            return weft.ones(2) + 1

        assert f(weft.ones(1)).device.type == "meta"
        stack = weft.overrides._get_current_function_mode_stack()
        assert [m.device.type for m in stack[:1]] == ["meta"] and stack[1] is outer and stack[2] is inner and len(stack) == 3
    assert len(weft.overrides._get_current_function_mode_stack()) == 1
