"""nn.Module: where attributes go, walking, state, hooks, printing."""

import pytest

import weft
from weft import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)
        self.register_buffer("scale", weft.ones(2))
        self.register_buffer("scratch", weft.zeros(1), persistent=False)

    def forward(self, x):
        return self.second(self.first(x).relu()) * self.scale


def test_parameters_buffers_and_modules_are_filed_and_named_in_order():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.weight", "second.bias"]
    assert [n for n, _ in net.named_buffers()] == ["scale", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "second"]
    assert list(net.state_dict()) == ["scale", "first.weight", "first.bias", "second.weight", "second.bias"]


def test_shared_parameters_are_walked_once():
    net = Net()
    net.third = net.first
    assert len(list(net.parameters())) == 4
    assert len(list(net.named_parameters(remove_duplicate=False))) == 6


def test_a_parameter_cannot_be_replaced_by_something_else():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign 'float' as parameter 'weight'"):
        net.first.weight = 1.0
    with pytest.raises(TypeError, match="as child module 'first'"):
        net.first = 3
    net.first.bias = None
    assert net.first.bias is None and len(list(net.parameters())) == 3


def test_assigning_before_init_is_an_error():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(weft.ones(1))

    with pytest.raises(AttributeError, match="before Module.__init__"):
        Early()


def test_state_dict_round_trip_and_its_errors():
    a, b = Net(), Net()
    keys = b.load_state_dict(a.state_dict())
    assert keys.missing_keys == [] and keys.unexpected_keys == []
    x = weft.randn(5, 3)
    assert weft.equal(a(x), b(x))
    state = a.state_dict()
    del state["first.bias"]
    state["other"] = weft.ones(1)
    with pytest.raises(RuntimeError, match='(?s)Missing key.*"first.bias".*Unexpected key.*"other"'):
        b.load_state_dict(state)
    keys = b.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["first.bias"]
    state["first.weight"] = weft.ones(2, 2)
    with pytest.raises(RuntimeError, match="size mismatch for first.weight"):
        b.load_state_dict(state, strict=False)


def test_train_eval_requires_grad_and_zero_grad():
    net = Net()
    assert net.training and not net.eval().first.training
    net.train()
    net(weft.randn(2, 3)).sum().backward()
    assert net.first.weight.grad is not None
    net.zero_grad()
    assert net.first.weight.grad is None
    net.requires_grad_(False)
    assert not net(weft.randn(2, 3)).requires_grad


def test_to_changes_floating_tensors_in_place():
    net = Net()
    weight = net.first.weight
    net.to(weft.float64)
    assert net.first.weight is weight and weight.dtype == weft.float64 and net.scale.dtype == weft.float64
    with pytest.raises(TypeError, match="floating point or complex"):
        net.to(weft.int64)


def test_forward_hooks_see_and_replace():
    net, seen = Net(), []
    handle = net.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    net.register_forward_hook(lambda m, args, out: seen.append(args[0].abs().sum().item()))
    with_hook = net(weft.randn(2, 3))
    assert seen == [0.0]
    handle.remove()
    assert weft.equal(with_hook, net(weft.zeros(2, 3)))
    net.register_forward_hook(lambda m, args, out: out * 0 + 7)
    assert (net(weft.randn(2, 3)) == 7).all()


def test_full_backward_hooks_see_gradients_of_inputs_and_outputs():
    layer, seen = nn.Linear(3, 2), {}
    layer.register_full_backward_hook(lambda m, gin, gout: seen.update(gin=gin[0], gout=gout[0]))
    x = weft.randn(4, 3, requires_grad=True)
    layer(x).sum().backward()
    assert weft.equal(seen["gout"], weft.ones(4, 2))
    assert weft.allclose(seen["gin"], x.grad)


def test_printing_shows_the_tree():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)"
    )


def test_containers():
    layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
    assert len(layers) == 3 and layers[-1] is layers[2] and [n for n, _ in layers.named_children()] == ["0", "1", "2"]
    del layers[0]
    layers.insert(0, nn.ReLU())
    assert [type(m).__name__ for m in layers] == ["ReLU", "Linear", "Linear"]
    with pytest.raises(IndexError):
        layers[3]
    by_name = nn.ModuleDict({"a": nn.Identity()})
    by_name["b"] = nn.ReLU()
    assert list(by_name) == ["a", "b"] and "b" in by_name
    pair = nn.Sequential(nn.Linear(2, 2), nn.Tanh())[1:]
    assert len(pair) == 1
    plist = nn.ParameterList([weft.ones(2), weft.zeros(3)])
    assert all(isinstance(p, nn.Parameter) for p in plist) and len(list(plist.parameters())) == 2


def test_missing_attribute_and_unknown_argument():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nope'"):
        Net().nope  # noqa: B018
    with pytest.raises(TypeError, match="positional arguments"):
        nn.GELU(1, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'slope'"):
        nn.GELU(slope=1)
