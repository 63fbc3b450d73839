"""Integers beyond 64 bits: PyTorch's classes of errors and their texts, for one and for a list of them."""

import pytest

import weft

X = weft.ones(4)
WIDE = 2**63
LISTED = {
    "zeros": ("size", lambda: weft.zeros(WIDE)),
    "ones": ("size", lambda: weft.ones([WIDE])),
    "empty": ("size", lambda: weft.empty(2**70)),
    "rand": ("size", lambda: weft.rand(-WIDE - 1)),
    "full": ("size", lambda: weft.full((WIDE,), 1)),
    "new_zeros": ("size", lambda: X.new_zeros(WIDE)),
    "expand": ("size", lambda: X.expand(WIDE)),
    "view": ("size", lambda: X.view(WIDE)),
    "reshape": ("shape", lambda: X.reshape(WIDE)),
    "permute": ("dims", lambda: X.permute(WIDE)),
    "flip": ("dims", lambda: X.flip(WIDE)),
    "repeat": ("repeats", lambda: X.repeat(WIDE)),
    "tile": ("dims", lambda: X.tile(WIDE)),
    "as_strided": ("size", lambda: X.as_strided((WIDE,), (1,))),
    "split_with_sizes": ("split_sizes", lambda: X.split_with_sizes([WIDE])),
}
ONE = {
    "sum": lambda: X.sum(WIDE),
    "unsqueeze": lambda: X.unsqueeze(WIDE),
    "chunk": lambda: X.chunk(WIDE),
    "roll": lambda: X.roll(WIDE),
    "split": lambda: X.split(2**70),
    "narrow": lambda: X.narrow(0, 2**70, 1),
    "sort": lambda: X.sort(2**70),
    "std": lambda: X.std(2**70),
    "unfold": lambda: X.unfold(0, WIDE, 1),
    "diagonal": lambda: X.diagonal(WIDE),
    "randperm": lambda: weft.randperm(WIDE),
    "eye": lambda: weft.eye(WIDE),
    "linspace": lambda: weft.linspace(0, 1, WIDE),
    "manual_seed": lambda: weft.manual_seed(2**64),
}


@pytest.mark.parametrize("name", LISTED)
def test_of_a_list(name):
    parameter, call = LISTED[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value).startswith(
        f"{name}(): argument '{parameter}' failed to unpack the object at pos 1 with error \"Overflow when unpacking long long"
    )


def test_the_place_is_said():
    for call in (lambda: weft.ones(1, WIDE), lambda: weft.zeros(1, 2**70), lambda: X.sum((0, 2**70))):
        with pytest.raises(TypeError, match="at pos 2"):
            call()


@pytest.mark.parametrize("name", ONE)
def test_of_one(name):
    with pytest.raises(ValueError, match="^Overflow when unpacking long long$"):
        ONE[name]()


def test_what_has_64_bits():
    weft.manual_seed(2**64 - 1)
    weft.manual_seed(-(2**63))
    assert weft.full((1,), 2**63, dtype=weft.uint64).tolist() == [2**63]
    assert weft.rand(3).shape == (3,)
