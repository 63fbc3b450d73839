"""x[i] with a tensor of one int: a view at its value."""

import pytest

import weft


def test_it_is_a_view():
    x = weft.zeros(3, 2)
    x[weft.tensor(1)].add_(1)
    x[:, weft.tensor(-1, dtype=weft.int16)] += 5
    assert x.tolist() == [[0, 5], [1, 6], [0, 5]]
    v = x[weft.tensor(2)]
    assert v._base is x and v.data_ptr() == x[2].data_ptr()
    weft.maximum(x[weft.tensor(0)], weft.tensor([9.0, 9.0]), out=x[weft.tensor(0)])
    assert x[0].tolist() == [9, 9]


def test_bytes_bools_and_dims_are_no_numbers():
    x = weft.arange(6.0).reshape(3, 2)
    assert x[weft.tensor([1])].shape == (1, 2) and x[weft.tensor(True)].shape == (1, 3, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        x[weft.tensor(3)]
    assert x.requires_grad_()[weft.tensor(1)].sum().grad_fn is not None


def test_transforms_take_it():
    x, places = weft.arange(12.0).reshape(4, 3), weft.tensor([2, 0, 1, 2])
    assert weft.func.vmap(lambda row, i: row[i])(x, places).tolist() == [2, 3, 7, 11]
    assert weft.func.grad(lambda t: t[places[0]].sum())(x).tolist() == [[0] * 3, [0] * 3, [1] * 3, [0] * 3]


def test_compiled_functions_that_write_there_break():
    def write(x, i):
        x[i].add_(5)
        return x * 1

    def read_then_write(x, i):
        before = x[i]
        x.add_(1)
        return before * 1

    for function in (write, read_then_write):
        for backend in ("eager", "inductor"):
            x, y = weft.zeros(3, 2), weft.zeros(3, 2)
            assert weft.compile(function, backend=backend)(x, weft.tensor(1)).tolist() == function(y, weft.tensor(1)).tolist()
            assert x.tolist() == y.tolist()

    def read(x, i):
        return x[i] * 2 + x[:, i].sum()

    x = weft.arange(9.0).reshape(3, 3)
    compiled = weft.compile(read, fullgraph=True)
    assert all(compiled(x, weft.tensor(i)).tolist() == read(x, weft.tensor(i)).tolist() for i in range(3))


def test_an_item_that_empties_the_list_of_indices():
    class Emptying:
        def __init__(self, held):
            self.held = held

        def __index__(self):
            self.held.clear()
            return 1

        __len__ = __index__

        def __iter__(self):
            self.held.clear()
            return iter([1])

        def __getitem__(self, i):
            raise IndexError

    x = weft.zeros(3, 2)
    for write in (False, True):
        key = []
        key += [Emptying(key), Emptying(key)]
        try:
            if write:
                x[key] = 1
            else:
                x[key]
        except (TypeError, ValueError, IndexError, RuntimeError):
            pass
        assert not key
