"""View ops in place, and writes through views whose elements or layouts need memory to tell. Values are PyTorch 2.13's."""

import pytest

import aten
import weft
from aten import tensor


def leaf():
    return tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)


CALLS = [
    (lambda x: x.t_(), (3, 2), (1, 3)),
    (lambda x: x.transpose_(0, -1), (3, 2), (1, 3)),
    (lambda x: x.swapaxes_(0, 1), (3, 2), (1, 3)),
    (lambda x: x.swapdims_(0, 1), (3, 2), (1, 3)),
    (lambda x: x.unsqueeze_(-1), (2, 3, 1), (3, 1, 1)),
    (lambda x: x.unsqueeze_(0).squeeze_(), (2, 3), (3, 1)),
    (lambda x: x.unsqueeze_(0).squeeze_((0, 1)), (2, 3), (3, 1)),
    (lambda x: x.as_strided_((2, 2), (1, 2), 1), (2, 2), (1, 2)),
]


@pytest.mark.parametrize("call,sizes,strides", CALLS)
def test_the_tensor_itself_takes_the_layout(call, sizes, strides):
    x = aten.arange(6.0).reshape(2, 3).clone()
    y, memory = x, x.data_ptr()
    assert call(x) is y and (tuple(y.shape), y.stride()) == (sizes, strides)
    assert y._version > 0 and y._base is None and y.untyped_storage().data_ptr() == memory


@pytest.mark.parametrize("call,sizes,strides", CALLS)
def test_gradients_pass_through(call, sizes, strides):
    x = leaf()
    y = call(x * 2)
    (y * aten.arange(float(y.numel())).reshape(sizes)).sum().backward()
    expected = leaf()
    z = aten.as_strided(expected * 2, sizes, strides, y.storage_offset())
    (z * aten.arange(float(z.numel())).reshape(sizes)).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_views_made_before_keep_their_places():
    x = leaf()
    y = x * 2
    v = y[0]
    y.t_()
    v.mul_(5)
    assert v._base is y
    (y * aten.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 20, 40], [2, 6, 10]]
    x = leaf()
    y = x * 2
    v = y[0]
    y.t_()
    y.mul_(5)
    (v * aten.arange(3.0)).sum().backward()
    assert x.grad.tolist() == [[0, 10, 20], [0, 0, 0]]


def test_a_relaid_view_still_writes_its_base():
    x = leaf()
    y = x * 2
    v = y.t()
    v.unsqueeze_(0)
    v[0, 1].mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [[2, 6, 2], [2, 6, 2]]


def test_a_view_is_a_leaf_once_it_requires_grad():
    a = aten.arange(6.0).reshape(2, 3).requires_grad_()
    for write in (lambda: a[0].mul_(2), lambda: a.view(-1).add_(1), lambda: a.t().zero_(), lambda: a[0].t_()):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            write()
    with aten.no_grad():
        a[0].add_(1)
    assert a.is_leaf and a.tolist() == [[1, 2, 3], [3, 4, 5]]
    base = aten.zeros(4)
    base[1:].add_(aten.ones(3, requires_grad=True))  # a view that requires grad only from here on
    base[1:].mul_(2)
    assert base.requires_grad and base.tolist() == [0, 2, 2, 2]


def test_what_is_refused():
    x = leaf()
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad"):
        x.t_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        x[0].unsqueeze_(0)
    y = x * 2
    z = y * y
    y.t_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    for bad, kind in (
        (lambda: aten.zeros(2, 2, 2).t_(), RuntimeError),
        (lambda: aten.zeros(2).unsqueeze_(3), IndexError),
        (lambda: aten.zeros(2).as_strided_((20,), (1,)), RuntimeError),
        (lambda: aten.zeros(2).as_strided_((2,), (1, 2)), RuntimeError),
    ):
        with pytest.raises(kind):
            bad()
    with aten.no_grad():
        assert tuple(x.t_().shape) == (3, 2) and x.is_leaf and x.requires_grad


def test_transforms():
    x = aten.arange(6.0).reshape(2, 3)
    assert weft.vmap(lambda x: (x * 1).unsqueeze_(0).t())(x).tolist() == x.unsqueeze(-1).tolist()
    assert weft.func.grad(lambda x: ((x * x).t_()[0] * 2).sum())(x).tolist() == [[0, 0, 0], [12, 0, 0]]


def test_one_value_may_be_written_to_elements_that_share_memory():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * 1).unsqueeze(1)
    e = y.expand(3, 4)
    e[1].fill_(7.0)
    e[2].zero_()
    e[0].fill_(5.0)
    assert y.tolist() == [[5], [7], [0]]
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    for write in (lambda: e.add_(1), lambda: e.copy_(aten.ones(3, 4)), lambda: e.normal_(), lambda: e.__setitem__(1, 7.0)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write()


def test_a_write_to_one_column_of_an_expanded_tensor():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y.unsqueeze(1).expand(3, 4)[:, 2].mul_(10)
    assert y.tolist() == [10, 20, 30]
    (y * tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [10, 20, 30]


def test_a_write_through_as_strided():
    x = leaf()
    y = x[:, 1:] * 2
    y.as_strided((2,), (2,), 1).mul_(10)
    y.expand(3, 2, 2).sum().backward()
    assert x.grad.tolist() == [[0, 6, 60], [0, 6, 60]]


def test_resize_as():
    x = aten.arange(6.0).reshape(2, 3).t()
    assert x.resize_as_(aten.zeros(3, 2)).stride() == (1, 3)  # the same sizes: nothing changes
    assert tuple(x.clone().resize_as_(aten.zeros(2)).shape) == (2,)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        leaf().resize_as_(aten.zeros(2))
    with pytest.raises(TypeError):
        x.resize_as_([2])


def relay(x):
    y = x * 2
    v = y[0]
    y.t_()
    v.add_(1)
    return y + 1, v, y.shape


def relay_input(x):
    x.unsqueeze_(0)
    return x * 3


def fill_expanded(x):
    y = (x * 1).unsqueeze(1).expand(2, 4, 3)
    y[0].fill_(2.0)
    y[:, 1].add_(1)
    return y + 1


@pytest.mark.parametrize(("f", "whole"), [(relay, True), (relay_input, False), (fill_expanded, False)])
def test_a_compiled_function_does_the_same_or_breaks_there(f, whole):
    for _ in range(2):
        x, z = aten.arange(6.0).reshape(2, 3).clone(), aten.arange(6.0).reshape(2, 3).clone()
        got, expected = weft.compile(f, fullgraph=whole)(x), f(z)
        assert str(got) == str(expected) and x.shape == z.shape and x.stride() == z.stride()
    if not whole:
        with pytest.raises(Exception, match="in place|expanded tensor"):
            weft.compile(f, fullgraph=True)(x)


def test_views_between_the_root_and_what_is_written_get_a_history():
    x, root = tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True), aten.zeros([3, 4])
    between = root.t()
    between[:, 0] = x * 2
    assert root.requires_grad and between.requires_grad
    aten.autograd.backward((between[..., ::2] * aten.arange(2.0)[None].add(3)).sum())
    assert x.grad.tolist() == [6.0] * 4


def test_a_view_made_without_gradients_is_not_written_with_them():
    base = weft.ones(4, requires_grad=True) * 2
    with weft.no_grad():
        view = base[:2]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        view.add_(1)
    with weft.no_grad():
        view.add_(1)
    assert base.tolist() == [3.0, 3.0, 2.0, 2.0]


def test_a_view_made_before_its_base_had_a_history_is_written_as_any():
    base, w = weft.ones(4), weft.ones(4, requires_grad=True)
    view = base[:2]
    base.mul_(w)
    view.mul_(3)
    assert aten.autograd.grad((base * weft.tensor([1.0, 2, 3, 4])).sum(), w)[0].tolist() == [3, 6, 3, 4]


def first_of_windows(y, v):
    v[..., 0] = v[..., 0] * 0.5
    return y * 1, v * 1


def columns_of_windows(y, v):
    v.transpose(0, 1)[0].zero_()
    v.select(-1, 1)[-1].mul_(3)
    return y * 1, v * 1


@pytest.mark.parametrize("write", [first_of_windows, columns_of_windows])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("exact", [False, True])
def test_writes_into_windows_that_overlap(write, dim, exact):
    """What is seen twice is written once, in eager and in compiled code: values and gradients are those of plain selections."""

    def f(x):
        y = x.cos()
        return write(y, y.unfold(dim, 2, 1))

    def plain(x):
        factor = aten.ones(4, 3)
        factor.narrow(dim, 0, x.shape[dim] - 1).mul_(0.5)
        y = x.cos() * factor
        return y, y.unfold(dim, 2, 1)

    def told(g):
        x = aten.arange(12.0).reshape(4, 3).requires_grad_()
        results = g(x)
        grads = aten.autograd.grad(results, [x], [r.detach() + 1 for r in results])
        return [t.tolist() for t in (*results, *grads)]

    assert told(weft.compile(f, fullgraph=True, options={"exact": exact})) == told(f)
    if write is first_of_windows:
        for a, b in zip(told(f), told(plain)):
            assert weft.allclose(tensor(a), tensor(b))


def test_the_gradient_of_what_was_written_through_a_view_may_lie_otherwise():
    x, y = aten.arange(24.0).reshape(2, 3, 4).requires_grad_(), tensor(2.0, requires_grad=True)
    z = x * 1
    z.view(-1)[::2].mul_(y)
    g = aten.arange(24.0).reshape(2, 4, 3).transpose(1, 2)
    dx, dy = aten.autograd.grad(z, [x, y], g)
    factor = tensor([2.0, 1.0] * 12).reshape(2, 3, 4)
    assert dx.tolist() == (g * factor).tolist()
    assert dy.item() == (g * x.detach() * (factor - 1)).sum().item()


LATER = {
    "whole": lambda x, b, v: (b.add_(x), v * 2)[1],
    "asked first": lambda x, b, v: (b.add_(x), v.requires_grad and v.sum())[1],
    "by another view": lambda x, b, v: (b.view(-1)[:3].add_(x[0]), v.exp())[1],
    "of a view": lambda x, b, v: (b.mul_(x), v.t()[0] + 1)[1],
    "written too": lambda x, b, v: (b.add_(x), v.mul_(3), b)[2],
    "in a list": lambda x, b, v: (b.add_(x), aten.stack([v, v]))[1],
}


@pytest.mark.parametrize("name", LATER)
def test_views_made_before_their_base_had_a_history_have_it(name):
    """The numbers are PyTorch 2.13's."""
    x, b = aten.ones([2, 3]).requires_grad_(), aten.ones([2, 3])
    made = LATER[name](x, b, b[:1])
    assert made.requires_grad and made.grad_fn is not None
    (got,) = aten.autograd.grad(made.sum(), x)
    wanted = {"asked first": 1.0, "by another view": 7.389056, "of a view": [1.0, 0, 0], "written too": 3.0}
    expected = aten.zeros([2, 3])
    expected[0] = tensor(wanted.get(name, 2.0))
    if name == "written too":
        expected[1] = 1.0
    weft.testing.assert_close(got, expected)


def test_what_was_cut_off_from_a_base_does_not_get_its_history():
    x, b = aten.ones([3]).requires_grad_(), aten.zeros([3])
    apart, integers = b.detach(), aten.zeros([3], dtype=aten.int64)
    shown = integers[1:]
    b.add_(x)
    integers.add_(1)
    assert not apart.requires_grad and not shown.requires_grad and b[1:].requires_grad
    view = b[:2]
    b.detach_()
    assert not (view * 1).requires_grad or view.grad_fn is not None


def test_a_tensor_given_other_data_is_no_view_of_what_it_was():
    x = aten.zeros([2, 3])
    x.t_()
    x.data = x.data * 1
    x.t_()
    assert x.shape == (2, 3) and x.stride() == (3, 1)
    base = aten.zeros([6])
    view = base.view(3, 2)
    view.data = aten.ones([3, 2])
    view.t_()
    assert view.sum().item() == 6 and view.shape == (2, 3) and base.sum().item() == 0
