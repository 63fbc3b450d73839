"""Sizes that do not fit are refused by compiled functions as by plain ones, whatever sizes they were compiled for."""

import pytest

import weft
import weft.nn.functional as F

ONES = weft.ones
INDEX = weft.zeros(4, 5, dtype=weft.int64)
REFUSED = {
    "scatter_add beyond self": lambda x: x[:3].scatter_add(1, INDEX, ONES(4, 5)),
    "scatter_add beyond src": lambda x: x[:4].scatter_add(1, INDEX, ONES(2, 5)),
    "scatter beyond self": lambda x: x[:3].scatter(1, INDEX, ONES(4, 5)),
    "scatter_reduce beyond src": lambda x: x[:4].scatter_reduce(1, INDEX, ONES(4, 3), "amax"),
    "gather beyond self": lambda x: x[:3].gather(1, INDEX),
    "bias": lambda x: F.conv1d(x[None], ONES(2, x.shape[0], 2), ONES(3)),
    "triangle": lambda x: weft.linalg.solve_triangular(ONES(3, 3), x[:, :1], upper=True),
    "triangular_solve": lambda x: weft.triangular_solve(x[:, :1], ONES(3, 3)),
    "as_strided_scatter": lambda x: weft.as_strided_scatter(x, ONES(2), (3,), (1,)),
    "out= of what requires grad": lambda x: weft.mul(x.requires_grad_(), 2, out=weft.empty(7, 7)),
}
OF_LATER_SIZES = {
    "gather": lambda x: x.gather(0, weft.zeros(1, 6, dtype=weft.int64)),
    "kernel": lambda x: F.conv1d(x[:1][None], ONES(1, 1, 6)),
    "window": lambda x: x.as_strided((4,), (20,)) * 2,
    "negative": lambda x: x.new_zeros(x.shape[0] - 5).sum(),
    "item": lambda x: x[5] * 2,
    "topk": lambda x: x.topk(6)[0],
}


def outcome(function, *args):
    try:
        return function(*args)
    except (RuntimeError, IndexError) as e:
        return type(e), str(e)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_eager_refuses(name, dynamic):
    function, x = REFUSED[name], ONES(7, 7)
    expected = outcome(function, x.clone())
    assert expected[0] is RuntimeError
    assert outcome(weft.compile(function, dynamic=dynamic), x.clone()) == expected


@pytest.mark.parametrize("name", OF_LATER_SIZES)
@pytest.mark.parametrize("dynamic", [None, True])
def test_what_eager_refuses_of_later_sizes(name, dynamic):
    function = OF_LATER_SIZES[name]
    compiled = weft.compile(function, dynamic=dynamic)
    for n in (10, 4, 9, 5):
        x = weft.arange(float(n * n)).reshape(n, n)
        found, expected = outcome(compiled, x), outcome(function, x)
        assert weft.equal(found, expected) if isinstance(expected, weft.Tensor) else found == expected, n


def test_a_window_beyond_the_elements_is_left_to_eager():
    compiled = weft.compile(lambda x: x.as_strided((4,), (5,)) * 2)
    assert compiled(weft.arange(40.0)[:8]).tolist() == [0.0, 10.0, 20.0, 30.0]
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        compiled(weft.arange(8.0))


def test_tensors_of_numbers_are_new_at_each_call():
    def f(x):
        made = x.new_tensor([1.0, 2.0])
        made[0] = 9
        return made, x.new_tensor([3.0])

    compiled = weft.compile(f)
    for _ in range(2):
        made, other = compiled(ONES(2))
        assert made.tolist() == [9.0, 2.0] and other.tolist() == [3.0]
        other.zero_()


def test_gradients_of_a_graph_with_constants_of_its_own():
    def f(x):
        x = x * 1
        x[[0, 0, 1]] += 1
        return x

    x, y = weft.randn(4, 6).requires_grad_(), None
    y = x.detach().clone().requires_grad_()
    for function, leaf in ((f, x), (weft.compile(f), y)):
        out = function(leaf)
        (out * out).sum().backward()
    assert weft.allclose(x.grad, y.grad)


def test_layouts_of_symbolic_sizes_are_kept():
    compiled = weft.compile(lambda x: weft.empty_like(x).fill_(1), dynamic=True)
    assert compiled(ONES(3, 5).T).stride() == (1, 5)


@pytest.mark.parametrize("sizes", [(3, 1), (1, 3), (2, 3), (1, 1)])
def test_sizes_of_one_decide_whether_a_reshape_is_a_view(sizes):
    def f(x):
        y = x.transpose(0, 1).reshape(-1)
        y.add_(1)
        return x * 2

    compiled = weft.compile(f, dynamic=True)
    for later in (sizes, (4, 5), (1, 7), (7, 1)):
        x, y = weft.zeros(*later), weft.zeros(*later)
        assert weft.equal(compiled(x), f(y)) and weft.equal(x, y)


def test_as_strided_counts_from_where_the_storage_begins():
    memory = ONES(8).cumsum(0)
    given = memory[:3], memory[4:7], weft.nn.Parameter(memory[2:5]), memory[1:2]

    def f(x):
        return x.as_strided((x.shape[0],), (1,), 0) * 2

    for dynamic in (None, True):
        compiled = weft.compile(f, dynamic=dynamic)
        for x in given:
            assert weft.equal(compiled(x), f(x))


@pytest.mark.parametrize("sizes", [(5, 5), (3, 3), (1, 1)])
def test_gaps_are_closed_in_the_order_of_the_strides(sizes):
    x = weft.ones(sizes[0], 2 * sizes[1])[:, ::2]

    def f(x):
        return x.T + x

    assert weft.compile(f, dynamic=True)(x).stride() == f(x).stride()


def test_nothing_is_rolled():
    def f(x):
        return x.roll(1, 0), x.roll((1, 2), (0, 1)) + 1

    for sizes in ((0, 3), (3, 0), (2, 3)):
        got, want = weft.compile(f)(ONES(*sizes)), f(ONES(*sizes))
        assert all(map(weft.equal, got, want))


def test_what_is_like_another_tensor_has_no_gradient_from_it():
    x, y = ONES(2, 3), weft.randn(2, 3, requires_grad=True)
    results = weft.compile(lambda x, y: (x.type_as(y), x.view_as(y) * 2, x.to(y) + 1, x * 3))(x, y)
    assert not any(r.requires_grad for r in results)


def test_leaves_are_written_through_what_is_detached():
    def f(x):
        y = x * 2
        x.detach().mul_(3)
        return x * y

    found = []
    for function in (f, weft.compile(f)):
        x = weft.ones(3, requires_grad=True)
        out = function(x)
        out.sum().backward()
        found.append([out.tolist(), x.tolist(), x.grad.tolist(), x.is_leaf])
    assert found[0] == found[1] == [[6.0] * 3, [3.0] * 3, [8.0] * 3, True]


def test_writes_through_an_expansion_of_nothing():
    def f(x):
        y = x * 1
        y.expand_as(y).sub_(1)
        y.expand(1, *y.shape).mul_(2)
        return y

    compiled = weft.compile(f, fullgraph=True, dynamic=True)
    for sizes in ((2, 3), (1, 3), (0, 2)):
        assert weft.equal(compiled(ONES(*sizes)), f(ONES(*sizes)))


def test_no_index_may_have_any_number_of_dims():
    def f(x, index):
        return x.gather(0, index)

    compiled = weft.compile(f, dynamic=True, fullgraph=True)
    for sizes in ((0, 1), (2, 0)):
        assert tuple(compiled(ONES(3), weft.zeros(*sizes, dtype=weft.int64)).shape) == sizes
