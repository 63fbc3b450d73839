"""Lists of places among which are sizes, or numbers that change from call to call: index tensors that the graph makes."""

import pytest

import weft


def swapped(a):
    n, a = a.shape[0], a.clone()
    k = int(a[:, 0].argmax())
    a[[0, k]] = a[[k, 0]]
    return a, a[[n - 1, 0]]


FUNCTIONS = {
    "read": lambda a: a[[0, a.shape[0] - 1]],
    "of another dim": lambda a: a.T[:, [0, a.shape[0] - 1, -1]],
    "nested": lambda a: a[[[0, a.shape[0] - 1], [1, 2]]],
    "swapped": swapped,
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_read_and_written_as_in_eager(name, dynamic):
    weft.compiler.reset()
    f = FUNCTIONS[name]
    compiled = weft.compile(f, dynamic=dynamic)
    for n in (4, 5, 7):
        a = weft.randn(n, 5)
        assert repr(compiled(a)) == repr(f(a))


def test_a_place_beyond_the_end_is_refused():
    compiled = weft.compile(lambda a: a[[0, a.shape[0]]], dynamic=True)
    with pytest.raises(IndexError):
        compiled(weft.randn(4))
