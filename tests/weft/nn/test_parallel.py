"""Modules over devices, of which there is one."""

from collections import namedtuple

import weft
from weft import nn
from weft.nn import parallel


def test_data_parallel_without_devices_calls_its_module():
    weft.manual_seed(0)
    inner = nn.Linear(3, 2)
    outer = nn.DataParallel(inner)
    x = weft.randn(4, 3)
    assert weft.equal(outer(x), inner(x)) and list(outer.state_dict()) == ["module.weight", "module.bias"]
    assert weft.equal(parallel.data_parallel(inner, x), inner(x))
    distributed = parallel.DistributedDataParallel(inner)
    with distributed.no_sync():
        assert weft.equal(distributed(x), inner(x))


def test_over_two_devices_it_is_the_same():
    weft.manual_seed(0)
    inner = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2).eval())
    x = weft.randn(5, 3)
    split = nn.DataParallel(inner, ["cpu", "cpu"])
    weft.testing.assert_close(split(x), inner(x))
    split(x).sum().backward()
    gradient, inner[0].weight.grad = inner[0].weight.grad, None
    inner(x).sum().backward()
    weft.testing.assert_close(gradient, inner[0].weight.grad)


def test_structures_are_scattered_and_gathered():
    Pair = namedtuple("Pair", ["a", "b"])
    given = Pair({"x": weft.arange(4)}, [weft.arange(6), "text"])
    first, second = parallel.scatter(given, ["cpu", "cpu"])
    assert first.a["x"].tolist() == [0, 1] and second.b[0].tolist() == [3, 4, 5] and second.b[1] == "text"
    joined = parallel.gather([Pair(p.a, p.b[:1]) for p in (first, second)], "cpu")
    assert joined.a["x"].tolist() == [0, 1, 2, 3] and joined.b[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_gradients_of_convolutions():
    x, w = weft.randn(2, 4, 9, requires_grad=True), weft.randn(6, 2, 3, requires_grad=True)
    out = nn.functional.conv1d(x, w, None, 2, 1, 1, 2)
    g = weft.randn_like(out)
    out.backward(g)
    weft.testing.assert_close(nn.grad.conv1d_input(x.shape, w.detach(), g, 2, 1, 1, 2), x.grad)
    weft.testing.assert_close(nn.grad.conv1d_weight(x.detach(), w.shape, g, 2, 1, 1, 2), w.grad)


def test_a_wrapper_is_taken_off_a_state_dict():
    state = nn.DataParallel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state)[:3] == ["0.weight", "0.bias", "1.weight"] and state._metadata["1"] == {"version": 2}
    nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).load_state_dict(state)
