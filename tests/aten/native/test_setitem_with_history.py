"""tensor[key] = value with history, natively: elements, versions, gradients and errors of its definition in other ops."""

import itertools

import pytest

import weft as torch
from aten.op import registry

INDEX, MASK = torch.tensor([1, 0]), torch.tensor([[True, False, True], [False, False, True]])
KEYS = {
    "row": 0,
    "last": -1,
    "rows": slice(0, 1),
    "column": (..., 1),
    "new dim": None,
    "mask": MASK,
    "places": (INDEX,),
    "columns": (slice(None), INDEX),
    "pairs": (INDEX, INDEX),
    "every second": (slice(None), slice(None, None, 2)),
    "all": slice(None),
    "list": [1, 0],
    "True": True,
    "an element": (0, torch.tensor(1)),
    "places of a slice": (INDEX, slice(1, 2)),
    "nowhere": torch.tensor([], dtype=torch.int64),
}
VALUES = {
    "a float": lambda shape: 2.5,
    "an int": lambda shape: 3,
    "elements": lambda shape: torch.rand(shape),
    "elements that require grad": lambda shape: torch.rand(shape, requires_grad=True),
    "one that requires grad": lambda shape: torch.tensor(7.0, requires_grad=True),
    "too many": lambda shape: torch.ones(4, 2, 3, requires_grad=True),
    "of another dtype": lambda shape: torch.tensor(1.0, dtype=torch.float64),
}
TARGETS = {
    "computed": lambda x: x * 1,
    "plain": lambda x: torch.zeros(2, 3),
    "a view": lambda x: (x * 2).view(3, 2).t(),
}


def outcome(write, target, key, value):
    torch.manual_seed(2)
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    t = TARGETS[target](x)
    given = VALUES[value](t[KEYS[key]].shape)
    try:
        write(t, KEYS[key], given)
    except (RuntimeError, IndexError) as error:
        return type(error), str(error)
    leaves = [x] + [given] * (isinstance(given, torch.Tensor) and given.requires_grad)
    grads = torch.autograd.grad((t * torch.arange(6.0).view(2, 3)).sum(), leaves, allow_unused=True) if t.requires_grad else []
    return t.tolist(), t.requires_grad, t._version, [g if g is None else g.tolist() for g in grads]


@pytest.mark.parametrize("target", TARGETS)
def test_it_is_what_the_definition_does(target):
    def by_definition(t, key, value):
        registry["setitem"].function(t, key, value)

    def by_call(t, key, value):
        t[key] = value

    for key, value in itertools.product(KEYS, VALUES):
        assert outcome(by_call, target, key, value) == outcome(by_definition, target, key, value), (key, value)
