"""The default device is guarded, and graphs name it."""

import threading

import pytest
from weft._dynamo.testing import CompileCounter

import weft
from aten import _native
from weft.overrides import TorchFunctionMode


def made(x):
    return (
        weft.zeros(3) + 1, weft.tensor([1.5]), weft.tensor(2), weft.randn(2), weft.nn.Linear(2, 2).weight, weft.Tensor(2),
        weft.as_tensor([1]), weft.zeros(1, 1, 1, 1, 1, 1), weft.zeros_like(x), x.new_zeros(2), weft.as_tensor(x), weft.vander(x),
    )  # fmt: skip


def nested(x):
    y = weft.zeros(2)
    with weft.device("meta"):
        u = weft.zeros(3)
        with weft.device("cpu"):
            v = weft.ones(2), weft.tensor([2.0])
        w = weft.ones(3), weft.get_default_device()
    return y, u, *v, *w, weft.ones(2)


def broken(x):
    with weft.device("meta"):
        y = weft.zeros(3)
        weft._dynamo.graph_break()
        z = weft.ones(2)
    return y, z, weft.ones(1)


def left_by_an_exception(x):
    try:
        with weft.device("meta"):
            y = weft.zeros(3)
            raise ValueError
    except ValueError:
        return y, weft.ones(1)


def entered_by_hand(x):
    device = weft.device("meta")
    device.__enter__()
    y = weft.zeros(2)
    weft._dynamo.graph_break()
    z = weft.zeros(2)
    device.__exit__(None, None, None)
    return y, z, weft.zeros(1)


def set_inside(x):
    weft.set_default_device("meta")
    y = weft.zeros(2)
    weft.set_default_device(None)
    return y, weft.zeros(1), weft.get_default_device()


class AddOne(TorchFunctionMode):
    def __torch_function__(self, f, types, args=(), kwargs=None):
        r = f(*args, **(kwargs or {}))
        return r + 1 if isinstance(r, weft.Tensor) and r.is_cpu else r


def beside_modes(x):
    with AddOne():
        with weft.device("meta"):
            y = weft.zeros(2)
        z = weft.zeros(2)
    with weft.device("meta"), AddOne():
        u = weft.ones(2)
    return y, z, u


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("function", [made, nested, broken, left_by_an_exception, entered_by_hand, set_inside, beside_modes])
def test_tensors_are_made_where_plain_python_makes_them(function, backend):
    compiled = weft.compile(function, backend=backend)
    x, seen = weft.ones(2), []

    def same():
        found = [[r.device if isinstance(r, weft.Tensor) else r for r in f(x)] for f in (compiled, function)]
        seen.append(found[0] == found[1])

    same()
    try:
        for device in ("cpu", "meta", "cpu", None):
            weft.set_default_device(device)
            same()
            for inner in ("cpu", "meta"):
                with weft.device(inner):
                    same()
    finally:
        weft.set_default_device(None)
    thread = threading.Thread(target=same)
    thread.start()
    thread.join()
    assert len(seen) == 14 and all(seen)


def test_one_graph_for_each_default():
    counter = CompileCounter()
    compiled = weft.compile(nested, backend=counter, fullgraph=True)
    for device in ("cpu", "meta") * 3:
        with weft.device(device):
            compiled(weft.ones(2))
    assert counter.frame_count == 2


def test_a_handler_of_a_mode_may_set_it():
    class Sets(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            weft.set_default_device(device)
            return function(*args, **(kwargs or {}))

    word = _native.ambient()
    for device in ("meta", None, "meta", "cpu", None):
        with Sets():
            inside = weft.zeros(2)
        assert [inside.device.type, weft.zeros(2).device.type, weft.get_default_device().type] == [device or "cpu"] * 3
    assert _native.ambient() == word
