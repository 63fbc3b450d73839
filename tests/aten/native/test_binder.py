"""What native rules get of a call is what the schema says of it, however it is spelled; the rest is left to the general path."""

import pytest

import aten
from aten import _native
from aten import dtype as dtypes
from aten.op import registry

RULES = sorted({op.name: op for op in registry.values() if _native.has_rule(op)}.items())
VALUES = {
    "int": 1,
    "float": 0.5,
    "bool": True,
    "str": "none",
    "Scalar": 2,
    "ScalarType": dtypes.float64,
    "Device": dtypes.device("cpu"),
    "MemoryFormat": aten.contiguous_format,
    "Any": None,
    "Generator": None,
}


def value_of(param):
    """An argument that the parameter takes."""
    one = aten.ones(2, 3) if param.is_tensor else VALUES.get(param.type, 1)
    return [one] * max(param.spread, 2) if param.is_list else one


def plain(bound):
    return bound if bound is NotImplemented else tuple(list(v) if isinstance(v, (tuple, list)) else v for v in bound)


def agree(op, args, kwargs):
    found = plain(_native.bound(op, args, kwargs))
    expected = plain(op.schema.bind(args, kwargs, op.name))
    assert found is not NotImplemented, (op.name, args, kwargs)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert same(a, b)


def same(a, b):
    if type(a) is list and type(b) is list:
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or (type(a) is type(b) and not isinstance(a, aten.Tensor) and a == b)


@pytest.mark.parametrize("op", [op for _, op in RULES], ids=[name for name, _ in RULES])
def test_calls_are_bound_as_the_schema_says(op):
    params = op.schema.params
    positional = op.schema.positional
    required = sum(p.required for p in params)
    values = [value_of(p) for p in params]
    by_name = {p.name: v for p, v in zip(params, values)}
    agree(op, tuple(values[:required]), {})
    agree(op, tuple(values[:positional]), {p.name: by_name[p.name] for p in params[positional:]})
    agree(op, (), by_name)
    agree(op, (), dict(reversed(by_name.items())))
    agree(op, tuple(values[:1]), {"".join(list(name)): by_name[name] for name in list(by_name)[:0:-1]})  # names made while running
    for k, param in enumerate(params):
        if not param.required:
            others = {p.name: v for j, (p, v) in enumerate(zip(params, values)) if j != k}
            agree(op, (), others)
            agree(op, (), {**others, param.name: param.default})


@pytest.mark.parametrize("op", [op for _, op in RULES], ids=[name for name, _ in RULES])
def test_malformed_calls_are_left_to_the_general_path(op):
    params = op.schema.params
    values = [value_of(p) for p in params]
    by_name = {p.name: v for p, v in zip(params, values)}
    left = [
        ((), {}),
        (tuple(values[: op.schema.positional]), {"no_such_parameter": 1}),
        (tuple(values), {params[0].name: values[0]}),
    ]
    if op.schema.variadic < 0:
        left.append((tuple(values[: op.schema.positional]) + (1,), {}))
    for param in params:
        if param.type not in ("Any", "Generator", "MemoryFormat"):  # (rules that take a format look themselves)
            left.append(((), {**by_name, param.name: object()}))
            if not param.optional:
                left.append(((), {**by_name, param.name: None}))
    for args, kwargs in left:
        assert _native.bound(op, args, kwargs) is NotImplemented, (args, kwargs)


def test_what_a_parameter_is_called_elsewhere_is_known():
    x = aten.ones(2, 3)
    for name, args, kwargs in [
        ("sum", (), {"self": x, "axis": 1, "keepdims": True}),
        ("add", (), {"x1": x, "x2": 2}),
        ("flip", (x,), {"axes": (0, 1)}),
        ("zeros", (), {"shape": (2, 3)}),
    ]:
        agree(registry[name], args, kwargs)
    assert _native.bound(registry["sum"], (x,), {"dim": 0, "axis": 1}) is NotImplemented


def test_ints_may_be_spread_and_one_may_stand_for_all():
    x = aten.ones(2, 3)
    for name, args in [
        ("permute", (x, 1, 0)),
        ("zeros", (2, 3)),
        ("zeros", (4,)),
        ("expand", (x, -1, 3)),
        ("sum", (x, 1)),
        ("roll", (x, 1, 0)),
    ]:
        agree(registry[name], args, {})


def entered(call):
    _native.python_entries(True)
    call()
    return _native.python_entries(True)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: aten.sum(keepdim=True, dim=(0, 1), input=x),
        lambda x: x.sum(axis=-1, keepdims=True),
        lambda x: x.sum(1, dtype=dtypes.float64),
        lambda x: x.mean(dim=(0, 1), dtype=dtypes.float64),
        lambda x: x.cumsum(dim=0, dtype=dtypes.float64),
        lambda x: x.softmax(dim=-1, dtype=dtypes.float64),
        lambda x: aten.add(other=x, input=x),
        lambda x: aten.maximum(x, other=x),
        lambda x: aten.where(x > 0, input=x, other=0.0),
        lambda x: x.view(size=(3, 2)),
        lambda x: x.reshape(shape=(3, 2)),
        lambda x: x.transpose(dim0=0, dim1=1),
        lambda x: x.permute(dims=(1, 0)),
        lambda x: x.unsqueeze(dim=0),
        lambda x: x.select(dim=0, index=1),
        lambda x: x.narrow(dim=1, start=0, length=2),
        lambda x: x.expand(size=(2, 3)),
        lambda x: aten.matmul(input=x, other=x.t()),
        lambda x: aten.zeros(size=(2, 3), device="cpu"),
        lambda x: aten.full((2, 3), fill_value=1.5),
        lambda x: aten.full_like(x, fill_value=2),
        lambda x: x.new_full((2, 3), 1.5),
        lambda x: aten.arange(start=0, end=4),
        lambda x: x.to("cpu"),
        lambda x: x.to(device="cpu", dtype=dtypes.float64),
        lambda x: aten.layer_norm(x, (3,), eps=1),
        lambda x: aten.gather(x, dim=1, index=aten.zeros(2, 3, dtype=dtypes.int64)),
        lambda x: aten.index_select(x, dim=0, index=aten.arange(2)),
        lambda x: x.clone().copy_(src=x),
        lambda x: x.clone().fill_(value=1.0),
    ],
)
def test_keywords_in_any_order_and_defaults_do_not_enter_python(call):
    assert entered(lambda: call(aten.ones(2, 3))) == {}


def test_a_kind_without_such_a_rule_is_refused():
    with pytest.raises(ValueError, match="no native rule of frobnicate of the kind reduction"):
        aten.op.Op("frobnicate", "frobnicate(Tensor input) -> Tensor", "core", None, (), "none", None, "reduction")
