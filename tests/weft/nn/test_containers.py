"""The protocols of lists and dicts of modules and parameters. What is printed and raised is PyTorch 2.13's, read there."""

from __future__ import annotations

import pytest

import weft as torch
from weft import nn


def kinds(modules):
    return [type(m).__name__ for m in modules]


def test_sequential_is_edited_as_a_list():
    s = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert kinds(s.insert(-1, nn.GELU())) == ["ReLU", "GELU", "Tanh"]
    del s[0]
    assert list(s._modules) == ["0", "1"] and kinds(s) == ["GELU", "Tanh"]
    s[-1] = nn.ELU()
    assert kinds(s[1:]) == ["ELU"] and type(s[:0]) is nn.Sequential
    assert kinds(s + nn.Sequential(nn.SiLU())) == ["GELU", "ELU", "SiLU"]
    assert kinds(s * 2) == kinds(2 * s) == ["GELU", "ELU"] * 2
    s *= 2
    s += nn.Sequential(nn.Mish())
    assert len(s) == 5 and type(s.pop(-1)) is nn.Mish and len(s) == 4
    assert kinds(s.append(nn.ReLU()).extend([nn.Tanh()]))[-2:] == ["ReLU", "Tanh"]
    for bad, error in (
        (lambda: s + 1, ValueError), (lambda: s * 0, ValueError), (lambda: s * 1.5, TypeError), (lambda: s[10], IndexError),
        (lambda: s.insert(20, nn.ReLU()), IndexError), (lambda: s.insert(0, 3), AssertionError), (lambda: s.append(3), TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            bad()


def test_module_lists():
    layers = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(2, 2)])
    assert repr(layers) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Linear(in_features=2, out_features=2, bias=True)\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"
    layers += [nn.Tanh()]
    assert kinds(layers + [nn.GELU()])[-2:] == ["Tanh", "GELU"] and type(layers[1:]) is nn.ModuleList
    assert type(layers.pop(0)) is nn.ReLU and list(layers._modules) == ["0", "1", "2"]
    assert layers[1] in layers and nn.ReLU() not in layers
    with pytest.raises(TypeError, match="ModuleList.extend should be called with an iterable, but got int"):
        layers.extend(3)
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        layers(1)


def test_module_dicts():
    d = nn.ModuleDict([("a", nn.ReLU()), ["b", nn.Tanh()]])
    d.update(nn.ModuleDict({"c": nn.GELU()}))
    assert list(d.keys()) == ["a", "b", "c"] and "b" in d and type(d.pop("b")) is nn.Tanh and len(d) == 2
    assert kinds(d.values()) == ["ReLU", "GELU"] and [k for k, _ in d.items()] == ["a", "c"]
    d.clear()
    assert len(d) == 0
    with pytest.raises(TypeError, match="iterable of key/value pairs, but got int"):
        d.update(3)
    with pytest.raises(ValueError, match="#0 has length 3; 2 is required"):
        d.update([(1, 2, 3)])
    with pytest.raises(KeyError, match="attribute 'keys' already exists"):
        d["keys"] = nn.ReLU()


def test_parameter_lists_hold_anything():
    p = nn.ParameterList([torch.ones(2, 3), 3])
    p.append(nn.Parameter(torch.ones(1)))
    assert isinstance(p[0], nn.Parameter) and p[1] == 3 and len(p) == 3 and list(p.state_dict()) == ["0", "2"]
    assert repr(p) == (
        f"ParameterList(\n    (0): Parameter containing: [{torch.float32} of size 2x3]\n    (1): Object of type: int\n"
        f"    (2): Parameter containing: [{torch.float32} of size 1]\n)"
    )
    p[1] = torch.zeros(2)
    assert isinstance(p[-2], nn.Parameter) and len(list(p.parameters())) == 3 and len(p[1:]) == 2
    with pytest.raises(TypeError, match="with an iterable, but got Tensor"):
        p.extend(torch.ones(2))
    with pytest.raises(RuntimeError, match="should not be called"):
        p(1)
    with pytest.raises(IndexError):
        p[3]


def test_parameter_dicts():
    d = nn.ParameterDict({"b": torch.ones(2), "a": None})
    assert list(d) == ["a", "b"] and list(reversed(d)) == ["b", "a"] and d.get("x", 1) == 1
    assert d.setdefault("c", torch.zeros(1)) is d["c"] and isinstance(d["c"], nn.Parameter)
    assert d.popitem()[0] == "c" and list((d | nn.ParameterDict({"z": 1})).keys()) == ["a", "b", "z"]
    assert repr(d) == (
        "ParameterDict(\n    (a): Object of type: NoneType\n    (b): Parameter containing: [torch.FloatTensor of size 2]\n)"
    )
    assert list(d.fromkeys(["q"], 0).items()) == [("q", 0)] and d.copy()["b"] is d["b"]
    del d["a"]
    d.clear()
    assert len(d) == 0 and list(d.parameters()) == []
    with pytest.raises(TypeError, match="not a string"):
        d[1] = 2


def test_containers_are_captured():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.ParameterList([torch.ones(4), torch.full((4,), 2.0)])
            self.d = nn.ParameterDict({"a": torch.ones(4)})
            self.m = nn.ModuleDict({"x": nn.ReLU()})
            self.l = nn.ModuleList([nn.Tanh(), nn.ReLU()])

        def forward(self, x):
            for q in self.p:
                x = x * q
            for _, v in self.d.items():
                x = x + v
            for k in self.m:
                x = self.m[k](x)
            for layer in self.l[:1]:
                x = layer(x)
            return x + self.p[-1] + len(self.p)

    net, x = Net(), torch.randn(2, 4)
    assert torch.equal(torch.compile(net, backend="eager", fullgraph=True)(x), net(x))
