"""Sizes that data decides, captured under fullgraph: calls where they are 0, 1 or too large give what the plain function does."""

import copy
import math

import pytest

import dynamo
import weft
import weft.nn.functional as F
from weft import tensor

MIXED = tensor([1.0, 0.0, 2.0, 0.0, 3.0])
VECTORS = [(MIXED,), (tensor([0.0, 0.0, 1.0, 0.0, 0.0]),), (weft.zeros(5),), (weft.ones(5),)]  # 3, 1, 0 and 5 elements are shown
NUMBERS = [(weft.arange(10), tensor(k)) for k in (3, 0, 1, 10, 12, -1, -3, -20)]

OF_VECTORS = {
    "nonzero": lambda x: x.nonzero() * 2,
    "nonzero by dim": lambda x: x.reshape(5, 1).nonzero(as_tuple=True),
    "argwhere": lambda x: weft.argwhere(x).T,
    "where": lambda x: weft.where(x > 0)[0] + 1,
    "mask": lambda x: x[x > 0].sin().sum(),
    "mask plus itself": lambda x: x[x > 0] + x[x > 0],
    "masks of other sizes": lambda x: x[x > 0] + x[x > 1],
    "mask plus five": lambda x: x[x > 0] + weft.ones(5),
    "mask times one": lambda x: x[x > 0] * tensor(2.0),
    "mask by all": lambda x: x[x > 0][:, None] * x,
    "product": lambda x: x[x > 0].unsqueeze(0) @ x[x > 0].unsqueeze(1),
    "squeeze": lambda x: x[x > 0].squeeze(),
    "dims of squeeze": lambda x: x[x > 0].squeeze().ndim,
    "size": lambda x: x.nonzero().shape[0],
    "len": lambda x: len(x[x > 0]) + 1,
    "numel": lambda x: x * x[x > 0].numel(),
    "masked_select": lambda x: x.masked_select(x > 0) + 1,
    "unique": lambda x: weft.unique(x, return_inverse=True, return_counts=True),
    "unique along a dim": lambda x: weft.unique(x.reshape(5, 1), dim=0),
    "unique_consecutive": lambda x: weft.unique_consecutive(x),
    "bincount": lambda x: weft.bincount(x.int()) + 1,
    "repeat_interleave": lambda x: weft.repeat_interleave(x, x.long()) + 1,
    "cat": lambda x: weft.cat([x[x > 0], x[x == 0]]) + x,
    "stack": lambda x: weft.stack([x[x > 0], x[x > 0]]),
    "sort": lambda x: x[x > 0].sort().values,
    "max of none": lambda x: x[x > 0].max(),
    "softmax": lambda x: x[x > 0].softmax(0),
    "index": lambda x: x[x.nonzero().squeeze(1)],
    "first": lambda x: x[x > 0][0],
    "last": lambda x: x[x > 0][-1],
    "up to one": lambda x: x[x > 0][:1],
    "from one": lambda x: x[x > 0][1:],
    "every second": lambda x: x[x > 0][::2],
    "reshape": lambda x: x[x > 0].reshape(-1, 1),
    "view": lambda x: x[x > 0].view(x[x > 0].shape[0], 1),
    "expand": lambda x: x[x > 0].expand(2, -1),
    "zeros": lambda x: weft.zeros(x[x > 0].shape) + 1,
    "arange": lambda x: weft.arange(x[x > 0].shape[0]),
    "linear": lambda x: F.linear(x[x > 0][:, None], weft.ones(3, 1)),
    "embedding": lambda x: F.embedding(x[x > 0].long(), weft.arange(20.0).reshape(5, 4)),
    "index_add": lambda x: weft.zeros(5).index_add(0, x.nonzero()[:, 0], x[x > 0]),
    "mask written": lambda x: [x.__setitem__(x > 0, x[x > 0] * 2), x][1],
}
OF_NUMBERS = {
    "up to": lambda x, s: x[: s.item()] + 1,
    "from": lambda x, s: x[s.item() :],
    "two from": lambda x, s: x[s.item() : s.item() + 2],
    "the last": lambda x, s: x[-s.item() :],
    "every second": lambda x, s: x[1 : s.item() : 2],
    "one": lambda x, s: x[s.item()],
    "select": lambda x, s: x.select(0, s.item()),
    "narrow": lambda x, s: x.narrow(0, 0, s.item()) + 1,
    "narrow from": lambda x, s: x.narrow(0, s.item(), 2) + 1,
    "view": lambda x, s: x.view(s.item(), -1) + 1,
    "split": lambda x, s: x.split([s.item(), 10 - s.item()]),
    "zeros": lambda x, s: weft.zeros(s.item()),
    "repeat": lambda x, s: x.repeat(s.item()),
    "roll": lambda x, s: x.roll(s.item()),
    "pad": lambda x, s: F.pad(x, (0, s.item())),
}


def outcome(function, args):
    try:
        return repr(function(*copy.deepcopy(args)))
    except (RuntimeError, IndexError) as e:
        return type(e), str(e)


def same_as_plain(function, calls):
    for backend in ("eager", "inductor"):
        dynamo.reset()
        compiled = weft.compile(function, backend=backend, fullgraph=True)
        for args in calls:
            assert outcome(compiled, args) == outcome(function, args)


@pytest.mark.parametrize("name", OF_VECTORS)
def test_of_what_a_mask_shows(name):
    same_as_plain(OF_VECTORS[name], VECTORS)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_of_a_number_in_a_tensor(name):
    same_as_plain(OF_NUMBERS[name], NUMBERS)


def test_several_values_are_written_where_a_mask_holds():
    def write(x, mask, values):
        x[mask] = values
        return x

    calls = [(MIXED, MIXED > 0, tensor(v)) for v in ([7.0, 8.0, 9.0], [7.0, 8.0])]
    same_as_plain(write, [*calls, (weft.zeros(5), weft.zeros(5) > 0, weft.ones(0))])


WITHIN = {  # ops that read values of tensors for themselves
    "linspace": (lambda a: weft.linspace(-2.0, a, 5), tensor(3.0)),
    "masked_scatter": (lambda a, b: weft.masked_scatter(a, a > 0, b), MIXED, weft.arange(5.0)),
    "narrow": (lambda a, s: weft.narrow(a, 0, s, 2) + 1, MIXED, tensor(3)),
    "tensor_split": (lambda a, s: weft.tensor_split(a, s), MIXED, tensor([2, 4])),
    "index_put of nothing": (lambda a, m, v: weft.index_put(a, (m,), v), MIXED, MIXED > 100, weft.ones(0)),
    "histogram": (lambda a: weft.histogram(a, 4), MIXED),
    "histogramdd": (lambda a: weft.histogramdd(a, (3, 2)), weft.arange(12.0).reshape(6, 2)),
    "segment_reduce": (lambda a, s: weft.segment_reduce(a, "sum", lengths=s), MIXED, tensor([2, 3])),
    "one_hot": (lambda a: F.one_hot(a), tensor([1, 3, 0])),
}


@pytest.mark.parametrize("name", WITHIN)
def test_of_values_that_an_op_reads(name):
    function, *args = WITHIN[name]
    same_as_plain(function, [args])


def test_gradients_go_through_a_mask():
    function = lambda x: (x[x > 0] * 2).sum()
    compiled = weft.compile(function, fullgraph=True)
    for values in ([1.0, -1, 2], [3.0, 1, 1], [-1.0, -1, -1], [1.0, -1, -1]):
        x, y = (tensor(values, requires_grad=True) for _ in range(2))
        function(x).backward()
        compiled(y).backward()
        assert weft.equal(x.grad, y.grad)


def test_experts_are_compiled_twice_for_all_sizes_but_1():
    counter = dynamo.testing.CompileCounter()

    def routed(x, w):
        rows = weft.where(x[:, 0] > 0)[0]
        return weft.zeros(x.shape[0], w.shape[1]).index_add_(0, rows, F.relu(x[rows] @ w))

    compiled = weft.compile(routed, fullgraph=True, backend=counter)
    for n, times in ((3, 1), (6, 2), (9, 2), (2, 2), (1, 3), (4, 3)):  # (a column of one row lies otherwise than one of many)
        x, w = weft.randn(n, 4), weft.randn(4, 5)
        assert weft.equal(routed(x, w), compiled(x, w))
        assert counter.frame_count == times


def test_without_a_setting_they_break_the_graph():
    counter = dynamo.testing.CompileCounter()
    function = lambda x: x[x > 0] + 1
    assert weft.equal(weft.compile(function, backend=counter)(MIXED), function(MIXED))
    assert counter.frame_count == 2
    dynamo.reset()
    with dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        counter = dynamo.testing.CompileCounter()
        assert weft.equal(weft.compile(function, backend=counter)(MIXED), function(MIXED))
        assert counter.frame_count == 1


def test_a_promise_that_is_not_kept_after_a_write_is_an_error():
    def function(x, out):
        out.add_(1)
        return x[x > 0] + weft.ones(5)

    compiled = weft.compile(function, fullgraph=True, backend="eager")
    assert weft.equal(compiled(weft.ones(5), weft.zeros(2)), weft.full((5,), 2.0))
    with pytest.raises(RuntimeError, match="u0 == 5"):
        compiled(VECTORS[1][0], weft.zeros(2))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_integers_of_numbers_that_data_decides(backend):
    def f(x):
        total = x.sum().item()
        return x + int(total), weft.zeros(int(total)).shape[0], x * math.floor(total * 1.5)

    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for x in (weft.ones(3), weft.full((3,), 2.4)):
        weft.testing.assert_close(compiled(x), f(x))
    for x, error in ((weft.full((3,), math.inf), OverflowError), (weft.full((3,), math.nan), ValueError)):
        with pytest.raises(error):
            compiled(x)
