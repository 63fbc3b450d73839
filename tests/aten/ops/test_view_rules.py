"""Views and indexing: strides, errors and warnings as PyTorch 2.13 has them."""

import warnings

import numpy as np
import pytest

import aten
import weft
from aten import autograd
from aten.meta import Meta
from aten.op import ops


def test_new_dims_of_size_one_have_the_stride_of_one_more():
    rows, column = aten.arange(5), aten.ones(3, 1)
    for x, size, strides in (
        (rows, (1, 1, 5), (5, 5, 1)), (rows, (2, 1, 5), (0, 5, 1)), (rows, (1, 2, 5), (0, 0, 1)), (column, (1, 3, 1), (3, 1, 1)),
        (column, (2, 1, 3, 1), (0, 3, 1, 1)), (column, (1, 3, 4), (3, 1, 0)), (aten.tensor(1.0), (2, 1, 3), (0, 0, 0)),
    ):  # fmt: skip
        assert x.expand(size).stride() == strides, size
        assert aten.expand(x.to("meta"), size).stride() == strides, size
        assert tuple(aten.op.registry["expand"].rule(Meta.of(x), list(size)).strides) == strides, size


def test_errors_name_the_last_dim_that_does_not_fit():
    x = aten.ones(2, 3)
    for call, text in (
        (lambda: x + aten.ones(4, 5), r"tensor a \(3\) must match the size of tensor b \(5\) at non-singleton dimension 1"),
        (lambda: x.expand(5, 5), r"expanded size of the tensor \(5\) must match the existing size \(3\) at non-singleton"),
        (lambda: x.clone().copy_(aten.ones(3, 2)), r"expanded size of the tensor \(3\) must match the existing size \(2\)"),
        (lambda: aten.ones(4).hsplit(3), "hsplit attempted to split along dimension 0, but the size of the dimension 4 is not"),
        (lambda: x.vsplit(3), "vsplit attempted to split along dimension 0"),
        (lambda: x.hsplit(0), "not divisible by the split_size 0"),
        (lambda: x.movedim((0, 0), (0, 1)), r"movedim: repeated dim in `source` \(\[0, 0\]\)"),
        (lambda: x.movedim((0, 1), (1, -1)), "movedim: repeated dim in `destination`"),
        (lambda: aten.tensor_split(x, aten.tensor([1.5])), "dtype of long"),
        (lambda: x.resize_([2, 4, 2**29, 2**29]), "Storage size calculation overflowed with sizes="),
        (lambda: aten.empty([0, 4, 2**61]), "Stride calculation overflowed with sizes="),
        (lambda: aten.tensor_split(x, aten.tensor([[1]])), "zero-dimensional or one-dimensional tensor"),
        (lambda: x.__setitem__(x > 0, aten.ones(2, dtype=aten.float64)), "shape mismatch"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    for call, error, text in (
        (lambda: aten.tensor_split(x, 1.5), TypeError, "invalid combination of arguments"),
        (lambda: aten.unravel_index(aten.tensor(0.5), (2, 2)), TypeError, "expected 'indices' to be integer"),
        (lambda: aten.unravel_index(aten.tensor(0), aten.tensor([2])), TypeError, "expected 'shape' to be int or sequence"),
        (lambda: aten.unravel_index(aten.tensor(0), (1, 2.0)), TypeError, "expected 'shape' sequence to only contain ints"),
        (lambda: aten.unravel_index(aten.tensor(0), (2, -3)), ValueError, "'shape' cannot have negative values"),
        (lambda: aten.empty(10, 0)[:, [0, 1]], IndexError, "for dimension with size 0"),
        (lambda: aten.empty(0, 3)[[0]], IndexError, "for dimension with size 0"),
        (lambda: x[::0], ValueError, "slice step cannot be zero"),
        (lambda: setattr(x, "data", None), TypeError, "Variable data has to be a tensor, but got NoneType"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_bytes_as_masks():
    x, on, off = aten.arange(6.0).reshape(2, 3), aten.tensor(1, dtype=aten.uint8), aten.tensor(0, dtype=aten.uint8)
    assert x[on].shape == (1, 2, 3) and x[off].shape == (0, 2, 3)
    assert aten.tensor(3.0)[on].tolist() == [3] and x[on].data_ptr() != x.data_ptr()
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        assert x[aten.tensor([0, 1], dtype=aten.uint8)].tolist() == [[3, 4, 5]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x[on] = 5
    assert x.tolist() == [[5, 5, 5], [5, 5, 5]]


def test_what_is_put_has_the_dtype():
    x = aten.arange(6.0).reshape(2, 3)
    wide = aten.ones(2, 3, dtype=aten.float64)
    for key, value in ((([0, 1], [1, 2]), wide[0, :2]), (aten.tensor([0, 1]), wide), (aten.tensor([True, False]), wide[0])):
        with pytest.raises(RuntimeError, match="source and destination dtypes match, got Float for the destination and Double"):
            x[key] = value
    x[x > 2] = aten.tensor(7)
    x[[0, 0], [0, 1]] = 9
    x[True] = aten.tensor([1, 2, 3])
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_windows_that_overlap_are_twice_differentiable():
    x = aten.arange(6.0, dtype=aten.float64).reshape(2, 3).requires_grad_()
    for size, stride, offset in (((2, 2), (1, 2), 1), ((3, 2), (1, 1), 0), ((2, 2), (0, 1), 2)):
        for of in (lambda x: x, lambda x: x.t()):
            assert autograd.gradgradcheck(lambda x, of=of, a=(size, stride, offset): of(x).as_strided(*a) ** 2, (x,))


def test_slopes_of_as_strided_scatter_are_where_it_writes():
    x, s = weft.arange(9.0).view(3, 3).requires_grad_(), weft.ones(2, 2, requires_grad=True)
    for run in (lambda f: f, lambda f: weft.compile(f, fullgraph=True)):
        y = run(lambda x, s: weft.as_strided_scatter(x, s, (2, 2), (1, 2)))(x, s)
        of_x, of_s = weft.autograd.grad(y.sum(), [x, s])
        assert of_x.tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]] and of_s.eq(1).all()  # PyTorch's


def test_a_write_through_as_strided_has_the_slopes_of_what_is_left():
    x = weft.arange(9.0).view(3, 3).requires_grad_()
    y = x * 1
    y.as_strided((2, 2), (1, 2)).fill_(5)
    assert weft.autograd.grad(y.sum(), x)[0].tolist() == [[0, 0, 0], [0, 1, 1], [1, 1, 1]]


def shared_evenly(g, sizes, strides, at, size, stride, offset):
    """The gradient of as_strided, element by element."""
    memory = {}
    for index in np.ndindex(*size):
        place = offset + sum(i * s for i, s in zip(index, stride))
        memory[place] = memory.get(place, 0) + g[index]
    places = [at + sum(i * s for i, s in zip(index, strides)) for index in np.ndindex(*sizes)]
    return np.array([memory.get(place, 0) / places.count(place) for place in places]).reshape(sizes)


@pytest.mark.parametrize("seed", range(40))
def test_the_gradient_of_a_strided_view_is_what_is_added_where_its_elements_lie(seed):
    random = np.random.default_rng(seed)
    layouts = []
    for n in random.integers(0, 4, 2):
        layouts.append([random.integers(0, 5, n).tolist(), random.integers(0, 9, n).tolist(), int(random.integers(0, 20))])
    (sizes, strides, at), (size, stride, offset) = layouts
    g = np.ascontiguousarray(random.integers(-9, 9, size).astype(np.float64)).reshape(size)
    made = ops.as_strided_backward(weft.from_numpy(g), sizes, strides, at, size, stride, offset)
    np.testing.assert_allclose(made.numpy(), shared_evenly(g, sizes, strides, at, size, stride, offset), rtol=1e-15)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "of, window, want, strides",
    [
        (lambda x: x.t(), ((2,), (1,), 1), [[0, -2, 4], [-1, 3, 5]], (1, 2)),  # by columns: memory 0 1 | 2 3 | 4 5
        (lambda x: x[:, 1], ((2,), (2,), 0), [1, 3, 5], (2,)),  # a window before the first element
        (lambda x: x[:, 1], ((2,), (2,), 1), [-1, -2, 5], (2,)),
        (lambda x: x[1:], ((2,), (1,), None), [[-1, -2], [4, 5]], (2, 1)),  # where input begins
        (lambda x: x[1:], ((2,), (1,), 0), [[2, 3], [4, 5]], (2, 1)),
        (lambda x: x[1:, :1].expand(2, 3), ((2,), (2,), 1), [[2, -1, 2], [-2, 4, 4]], (3, 1)),  # a copy of its own
        (lambda x: x[:0], ((2,), (1,), 0), [], (2, 1)),
    ],
)
def test_as_strided_scatter_writes_into_the_memory_that_input_is_a_view_of(of, window, want, strides, compiled):
    weft.compiler.reset()

    def written(x, src):
        return weft.as_strided_scatter(of(x), src, *window)

    x = weft.arange(6.0).view(3, 2)
    y = (weft.compile(written) if compiled else written)(x, weft.tensor([-1.0, -2.0]))
    assert y.tolist() == want and y.stride() == strides and x.sum() == 15


@pytest.mark.parametrize(
    "window, message",
    [
        (((2,), (0,), 0), "more than one element of the written-to tensor"),
        (((2,), (-1,), 1), "Negative strides"),
        (((2,), (1,), -1), "invalid storage offset -1"),
        (((2,), (1,), 5), "out of bounds for storage of"),
        (((1,), (1,), 0), "src to have a size equal to the slice"),
    ],
)
@pytest.mark.parametrize("of", [lambda x: x, lambda x: x.t(), lambda x: x[:, 1]])
def test_windows_that_as_strided_scatter_cannot_write_are_refused(window, message, of):
    with pytest.raises(RuntimeError, match=message):
        weft.as_strided_scatter(of(weft.arange(6.0).view(3, 2)), weft.ones(2), *window)


def test_sizes_and_dims_may_be_spread():
    x = weft.ones(1, 2, 1)
    assert x.squeeze(0, 2).shape == x.clone().squeeze_(0, 2).shape == x.squeeze((0, 2)).shape == (2,)
    assert x.broadcast_to(3, 2, 4).shape == weft.compile(lambda y: y.squeeze(0).broadcast_to(3, 2, 4))(x).shape == (3, 2, 4)
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times"):
        x.squeeze(0, 0)
