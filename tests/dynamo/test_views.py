"""Views that a program returns are views: those at the place a tensor says, and of arrays those that NumPy makes."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from aten import _native

pytestmark = pytest.mark.usefixtures("fresh")


def written_later(x, i):
    y = x[i]
    i.add_(-1)
    return y


def without_history(x, i):
    with weft.no_grad():
        y = x[i]
    return y


def with_an_attribute(x, i):
    y = x[i]
    y.label = "y"
    return [y, y]


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i],
        lambda x, i: x[0, i],
        lambda x, i: (x[:, i], x[..., None, i]),
        lambda x, i: (x[i].t(), x[i][0]),
        lambda x, i: (x[i].reshape(-1), x * 2),
        lambda x, i: ((x * 2)[i], x),
        lambda x, i: (x[[0], i], x[i] * 2, x[i].clone()),
        lambda x, i: x[x.argmax() - 2],
        written_later,
        without_history,
        with_an_attribute,
    ],
)
def test_an_item_at_a_number_that_is_a_tensor_is_a_view(f, grad):
    def shown(g):
        x, i = weft.arange(4.0).reshape(2, 2).requires_grad_(grad), weft.tensor(1)
        results = g(x, i)
        results = results if isinstance(results, (tuple, list)) else [results]
        if grad and results[0].requires_grad:
            sum(r.sum() for r in results).backward()
        with weft.no_grad():
            for k, r in enumerate(results):
                r.mul_(k + 2)
        told = [(r.tolist(), r.stride(), r.storage_offset(), r.requires_grad) for r in results]
        return told, x.tolist(), i.tolist(), None if x.grad is None else x.grad.tolist(), [results[0] is r for r in results]

    assert shown(weft.compile(f)) == shown(f)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, i, j: a[i],
        lambda a, i, j: a[i, 0],
        lambda a, i, j: a[j.argmax()],
        lambda a, i, j: a[j.argmax(), 0],
        lambda a, i, j: a[i, j.argmax()],
        lambda a, i, j: a[j.argmax(), [0]],
        lambda a, i, j: a[..., j.argmax()],
        lambda a, i, j: a[..., j.argmax(), 0],
        lambda a, i, j: a[j.argmax()].T[1:],
    ],
)
def test_scalars_index_an_array_as_numbers_do_and_arrays_of_one_number_copy(f):
    def shown(g):
        a = np.arange(6.0).reshape(3, 2)
        r = g(a, np.array(1), np.array([0, 3]))
        told = type(r), np.array(r).tolist()
        if isinstance(r, np.ndarray):
            r[...] = 9
        return told, a.tolist()

    assert shown(weft.compile(f, fullgraph=False)) == shown(f)


def one_of_unbind(x):
    y = x * 2
    y.unbind(0)[1].mul_(2)
    return y


def one_while_iterating(x):
    y = x * 2
    for r in y:
        r.add_(1)
    return y


def part_of_a_chunk(x):
    y = x * 2
    y.chunk(3)[1][:1].add_(1)
    return y


def of_a_split(x):
    y = x.clone()
    y.split(1)[0].zero_()
    return y


def without_a_history(x):
    y = x.detach().clone()
    y.chunk(3)[1][:1].add_(x[0])
    return y * x


def of_what_is_detached(x):
    a = x.detach().split(1)
    a[0].zero_()
    return x * 2


def without_gradients(x):
    with weft.no_grad():
        for t in x.unbind(0):
            t.mul_(2)
    return x * 1


REFUSED = [one_of_unbind, one_while_iterating, part_of_a_chunk, of_a_split]
WRITTEN = [without_a_history, of_what_is_detached, without_gradients]


@pytest.mark.parametrize("f", REFUSED + WRITTEN)
def test_one_of_several_views_is_written_where_eager_writes_it(f):
    def told(g):
        x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
        try:
            r = g(x)
        except RuntimeError as e:
            return str(e)
        grads = weft.autograd.grad(r, [x], weft.ones_like(r))
        return r.tolist(), grads[0].tolist(), x.tolist()

    assert told(weft.compile(f)) == told(f)
    assert isinstance(told(f), str) == (f in REFUSED)


@pytest.mark.parametrize("first, later", [((5, 4, 1), (3, 3, 1)), ((8, 5, 1), (1, 4, 1)), ((2, 3, 4), (2, 1, 4))])
def test_a_reshape_that_copied_is_a_view_of_sizes_that_allow_one(first, later):
    def f(x):
        return x.reshape(x.shape[2], x.shape[1], x.shape[0]), x.transpose(0, 1).reshape(-1)

    compiled = weft.compile(f, dynamic=True)
    for sizes in (first, later):
        x = weft.arange(float(np.prod(sizes))).reshape(*reversed(sizes)).permute(2, 1, 0)
        told = [[(r.stride(), r.tolist(), r.data_ptr() == x.data_ptr()) for r in g(x)] for g in (f, compiled)]
        assert told[0] == told[1]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_result_is_known_as_a_view_of_its_argument(backend):
    def f(x):
        return x + 1, x.view(-1)[1:], x.t(), x.detach()

    x = weft.arange(6.0).reshape(2, 3).clone()
    found = [(r._is_view(), r._base is x) for r in weft.compile(f, backend=backend)(x)]
    assert found == [(r._is_view(), r._base is x) for r in f(x)] == [(False, False), (True, True), (True, True), (False, False)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_what_is_written_into_a_result_with_history_is_history_of_its_argument(backend):
    def f(x):
        return x + 1, x.view(3, 2)[1:]

    def told(g):
        memory, weights = weft.zeros(6), weft.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        _, part = g(memory)
        part.copy_(weights.view(2, 2) * 3)
        (memory * memory).sum().backward()
        return memory.tolist(), weights.grad.tolist()

    assert told(weft.compile(f, backend=backend)) == told(f)


def test_views_of_known_sizes_are_made_without_python():
    f = weft.compile(lambda x: (x.view(-1), x.t(), *x.chunk(3, -1)), dynamic=False)
    x = weft.arange(24.0).reshape(4, 6)
    f(x)
    _native.python_entries(True)
    compiled = f(x)
    assert _native.python_entries(True) == {}
    expected = (x.view(-1), x.t(), *x.chunk(3, -1))
    assert [(v.tolist(), v.stride(), v.storage_offset(), v._base is x) for v in compiled] == [
        (v.tolist(), v.stride(), v.storage_offset(), v._base is x) for v in expected
    ]
    y = x * weft.ones(4, 6, requires_grad=True)
    with weft.no_grad():
        views = f(y)
    with pytest.raises(RuntimeError, match="no_grad mode"):
        views[0].add_(1)
