"""`size(dim=…)`, `stride(dim=…)` and what they refuse."""

import pytest

import weft


def test_size_and_stride():
    x = weft.ones(3, 4)
    assert (x.size(dim=1), x.stride(dim=0), x.size(-2), x.stride(), x.size(dim=None)) == (4, 4, 3, (4, 1), (3, 4))
    assert weft.compile(lambda x: (x.size(dim=1), x.stride(dim=0)), fullgraph=True)(x) == (4, 4)


@pytest.mark.parametrize("call, kind, text", [
    (lambda x: x.size(k=1), TypeError, "unexpected keyword argument 'k'"),
    (lambda x: x.size(1, 2), TypeError, "at most 1 argument"),
    (lambda x: x.stride(0, dim=1), TypeError, "at most 1 argument"),
    (lambda x: x.stride(dim=5), IndexError, "Dimension out of range"),
])  # fmt: skip
def test_refusals(call, kind, text):
    with pytest.raises(kind, match=text):
        call(weft.ones(3, 4))


def test_fills_take_from_by_name():
    x = weft.empty(100)
    assert ((x.uniform_(**{"from": 1.0, "to": 2.0}) >= 1) & (x < 2)).all()
    assert sorted(set(x.random_(**{"from": 1, "to": 3}).tolist())) == [1, 2]


def test_result_types_are_made_of_a_sequence():
    x = weft.ones(2)
    made = weft.return_types.max((x, x * 2))
    assert made.values is x and made._replace(indices=1).indices == 1 and type(weft.max(weft.ones(2, 2), 0)) is type(made)
    assert weft.compile(lambda x: weft.return_types.max((x, x * 2)).indices, fullgraph=True)(x).tolist() == [2, 2]
