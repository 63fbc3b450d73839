"""`_foreach_*`: ops on lists of tensors, eager and captured whole."""

import pytest

import weft


def made(a):
    return [
        weft._foreach_add(a, 1), weft._foreach_sub(a, a, alpha=2), weft._foreach_mul(a, [2, 3]),
        weft._foreach_div(a, weft.tensor(2.0)),
        weft._foreach_addcdiv(a, a, a, [1, 2]), weft._foreach_addcmul(a, a, a, value=3), weft._foreach_pow(a, 2),
        weft._foreach_lerp(a, a, 0.5), weft._foreach_sqrt(a), weft._foreach_norm(a), weft._foreach_maximum(a, 1.5),
    ]  # fmt: skip


def written(a):
    weft._foreach_add_(a, a, alpha=2)
    weft._foreach_lerp_(a, [weft.zeros(2), weft.zeros(3)], 0.5)
    weft._foreach_zero_(a[:1])
    weft._foreach_maximum_(a, 2.0)
    weft._foreach_copy_(a[1:], a[1:])
    weft._foreach_neg_(a)


EXPECTED = [[2, 3], [-1, -2], [2, 6], [0.5, 1], [2, 4], [4, 14], [1, 4], [1, 2], [1, 2**0.5], [2**0.5, 12**0.5], [1.5, 2]]


@pytest.mark.parametrize("run", [lambda f: f, lambda f: weft.compile(f, fullgraph=True)], ids=["eager", "compiled"])
def test_an_op_on_each_tensor(run):
    a = [weft.ones(2), weft.ones(3) * 2]
    found = [[t.reshape(-1)[0].item() for t in tensors] for tensors in run(made)(a)]
    assert found == [pytest.approx(row) for row in EXPECTED]
    run(written)(a)
    assert [t.tolist() for t in a] == [[-2, -2], [-3, -3, -3]]


def test_lists_of_other_lengths_and_unknown_names():
    with pytest.raises(RuntimeError, match="got 2 and 3"):
        weft._foreach_add([weft.ones(1)] * 2, [1, 2, 3])
    with pytest.raises(RuntimeError, match="at least one tensor"):
        weft._foreach_neg([])
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        weft._foreach_nothing([])


def test_one_base_to_the_power_of_each():
    exponents = [weft.tensor(3.0), weft.tensor(0.5)]
    for base in (weft.tensor(4.0), 4.0):
        assert [x.item() for x in weft._foreach_pow(base, exponents)] == [64.0, 2.0]


def test_what_is_returned_and_numbers_as_a_tensor():
    a = [weft.ones(1), weft.ones(1) * 2]
    for made in (weft._foreach_add_(a, 0.0), weft._foreach_lerp_(a, a, 0.5), weft._foreach_copy_(a, a), weft._foreach_abs_(a)):
        assert made is a
    numbers = weft.tensor([1.0, 2.0])
    made = weft._foreach_addcmul(a, a, a, numbers)
    assert type(made) is tuple and [t.item() for t in made] == [2, 10]
    assert [t.item() for t in weft._foreach_addcdiv_(a, a, a, numbers)] == [2, 4]
    with pytest.raises(RuntimeError, match="Expected length of scalars to match input of length 2 but got 3 instead"):
        weft._foreach_addcmul(a, a, a, weft.ones(3))
    with pytest.raises(RuntimeError, match="Expected packed scalar Tensor to be of dimension 1. Got 0 instead"):
        weft._foreach_addcdiv(a, a, a, weft.tensor(2.0))
