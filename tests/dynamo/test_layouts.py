"""Where tensors lie in memory, in compiled code: strides that change, view ops in place, places in a storage, out=."""

import pytest

import weft
from dynamo.testing import CompileCounter


def compilations(function, *calls, **options):
    """How often the function is compiled for these calls, which give what they do in eager."""
    counter = CompileCounter()
    compiled = weft.compile(function, backend=counter, fullgraph=True, **options)
    for args in calls:
        weft.testing.assert_close(compiled(*args), function(*args))
    return counter.frame_count


def test_strides_that_change_are_symbols():
    columns = lambda x: (x * 2).sum(0) + x.t().sum(1)
    assert compilations(columns, *[(weft.randn(4, 10 + i)[:, :5],) for i in range(5)]) == 2
    assert compilations(lambda x: x.reshape(-1) + 1, *[(weft.randn(10 * i)[::i],) for i in range(1, 6)]) == 2
    assert compilations(lambda x: x + 1, *[(weft.randn(4 + i, 10 + i)[:, :5],) for i in range(5)]) == 2


def test_strides_that_change_compiled():
    function = lambda x: (x * 2).sum(0) + x.t().sum(1)
    compiled = weft.compile(function, fullgraph=True)
    for i in range(4):
        x = weft.randn(4, 10 + i)[:, :5]
        weft.testing.assert_close(compiled(x), function(x))


def test_strides_stay_numbers_where_that_is_said():
    calls = [(weft.randn(4, 10 + i)[:, :5],) for i in range(3)]
    assert compilations(lambda x: x + 1, *calls, dynamic=False) == 3


def in_place(x):
    y = x + 1
    z = y[0]
    y.unsqueeze_(1)
    w = y * 2
    y.squeeze_(1)
    y.t_()
    z.add_(1)
    y.mul_(3)
    return w, y, z


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_view_ops_in_place(backend):
    compiled = weft.compile(in_place, backend=backend, fullgraph=True)
    x = weft.randn(3, 4, requires_grad=True)
    weft.testing.assert_close(compiled(x.detach()), in_place(x.detach()))
    other = x.detach().clone().requires_grad_()
    sum(r.sin().sum() for r in compiled(x)).backward()
    sum(r.sin().sum() for r in in_place(other)).backward()
    weft.testing.assert_close(x.grad, other.grad)


def test_view_ops_in_place_of_an_argument_are_left_to_eager():
    function = lambda x: x.unsqueeze_(0) + 1
    compiled = weft.compile(function, backend="eager")
    x = weft.ones(2)
    assert compiled(x).shape == (1, 2) and x.shape == (1, 2)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_resize_of_what_the_graph_made(backend):
    def resized(x):
        y, z = x + 1, x * 2
        part = y[1]
        y.resize_(2, 2)
        z.resize_((5,))
        part.mul_(2)
        return y * 3, y.shape, z + 1, y.add_(1), part

    compiled = weft.compile(resized, backend=backend, fullgraph=True)
    for x in (weft.arange(6.0).reshape(2, 3), weft.ones(2, 3)):
        weft.testing.assert_close(compiled(x), resized(x))


@pytest.mark.parametrize("function", [lambda x: x.resize_(2) * 2, lambda x: (x + 1).resize_(8)[:4] * 2])
def test_resize_of_an_argument_or_to_more_is_left_to_eager(function):
    assert weft.compile(function)(weft.ones(4)).tolist() == function(weft.ones(4)).tolist()
    with pytest.raises(weft._dynamo.exc.Unsupported, match="resize_"):
        weft.compile(function, fullgraph=True)(weft.ones(4))


def test_places_in_a_storage():
    function = lambda x: (x.storage_offset(), x[2:].storage_offset(), (x + 1)[1:].storage_offset(), x + 1)
    assert compilations(function, (weft.arange(6.0),), (weft.arange(6.0) * 2,)) == 1
    assert compilations(function, (weft.arange(6.0)[1:],), (weft.arange(7.0)[2:],)) == 2


def test_out_of_sizes_that_change():
    function = lambda x, y, out: weft.outer(x, y, out=out)
    calls = [(weft.ones(n), weft.ones(1), weft.empty(n, 1)) for n in (2, 6, 4)]
    assert compilations(function, *calls) == 2


def test_a_number_where_a_tensor_was_is_a_symbol():
    tensors = [(weft.randn(n), weft.randn(n)) for n in (2, 4, 6)]
    numbers = [(weft.randn(3), 3), (weft.randn(5), 4)]
    assert compilations(lambda x, y: x * y, tensors[0], numbers[0], tensors[1], numbers[1], tensors[2]) == 3


def test_a_size_of_0_is_guarded_where_it_decides_the_layout():
    function = lambda x: x.split(2, 0)[0].permute([2, 1, 0]).long()
    compiled = weft.compile(function, fullgraph=True, dynamic=True)
    for a, b in ((3, 0), (4, 4), (5, 0), (3, 3)):
        x = weft.ones(a, a, b, dtype=weft.bool)
        assert compiled(x).stride() == function(x).stride()


def test_a_range_that_cannot_be_made_is_an_error_though_nobody_reads_it():
    def function(x):
        weft.arange(0, x.shape[0] - 1, 2)
        return x + 1

    compiled = weft.compile(function, fullgraph=True, dynamic=True)
    for n in (5, 4):
        assert compiled(weft.ones(n)).shape == (n,)
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        compiled(weft.ones(0))


def test_whether_contiguous_is_a_copy_hangs_on_sizes_of_1():
    def function(x):
        y = x.transpose(2, 1).contiguous()
        x.clamp_(min=0)
        return y

    sizes = ((1, 5, 16), (2, 5, 16), (1, 4, 4), (3, 1, 2), (2, 0, 3))
    for order in (sizes, sizes[::-1]):
        compiled = weft.compile(function, fullgraph=True, dynamic=True)
        for n, a, b in order:
            given = [weft.empty_strided((n, a, b), (1, n, n * a)).copy_(weft.ones(n, a, b).neg()) for _ in range(2)]
            assert compiled(given[0]).equal(function(given[1])) and given[0].equal(given[1])


@pytest.mark.parametrize("sizes", [(9, 1, 3, 3), (1, 3, 1, 1), (2, 1, 1, 4)])
def test_strides_of_dims_of_one_element_are_eagers(sizes):
    function = lambda x: x.to(memory_format=weft.channels_last)
    assert weft.compile(function, fullgraph=True)(weft.ones(sizes)).stride() == function(weft.ones(sizes)).stride()


@pytest.mark.parametrize("first", [5, 1])
def test_a_size_that_comes_to_be_1_has_eagers_strides(first):
    def function(x, y):
        return x.transpose(0, 1) + 1, x.t() * y.t(), x.t().exp().to(weft.float64), x.t().clone()

    compiled = weft.compile(function, dynamic=True)
    for n in (first, 1, 3, 0, 5):
        x, y = weft.ones(n, 2), weft.ones(n, 2)
        assert [r.stride() for r in compiled(x, y)] == [r.stride() for r in function(x, y)]


def test_what_is_broadcast_says_nothing_of_the_order_of_dims_where_its_size_is_a_symbol():
    x, row = weft.randn(3, 17, 8, 3), weft.randn(1, 1, 8, 3, 2)[..., 0]

    def f(x, y):
        return y + x

    assert weft.compile(f, dynamic=True)(x, row).stride() == f(x, row).stride()


@pytest.mark.parametrize("dims", [(3, 1, 2, 0), (0, 1, 3, 2), (0, 3, 1, 2), (3, 0, 2, 1), (1, 2, 0, 3), (2, 0, 1, 3)], ids=str)
def test_images_that_lie_by_rows_because_a_size_is_one(dims):
    """Their copy is the tensor itself, so that who asks for one has to ask as the copy does."""
    x, y = weft.randn(1, 64, 7, 8).permute(dims), weft.randn(1, 64, 7, 8).permute(dims).contiguous()
    for f in (
        lambda x, y: weft.nn.functional.batch_norm(weft.cumsum(x, 3) / x, None, None, training=True),
        lambda x, y: weft.nn.functional.batch_norm(x.sinh() + y, None, None, training=True),
    ):
        for args in ((x, y), (y, x)):
            weft.compiler.reset()
            got = weft.compile(f, dynamic=True, fullgraph=True, backend="aot_eager")(*args)
            assert weft.allclose(got, f(*args), atol=1e-5)
