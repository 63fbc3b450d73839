"""NumPy's numbers, errors, views and scalars in compiled code."""

import numpy as np
import pytest

import weft
from tests.dynamo.kinds.alike import alike, result_of


def test_integers_beyond_the_dtype():
    small = np.array([0, 5, 255], np.uint8)

    def f(a, n, op):
        try:
            return {"gt": lambda: a > n, "ge": lambda: n >= a, "eq": lambda: a == n, "add": lambda: a + n, "mul": lambda: n * a}[
                op
            ]()
        except OverflowError as e:
            return str(e), a + 1

    for op in ("gt", "ge", "eq", "add", "mul"):
        alike(f, *[(small, n, op) for n in (1, -1, 300, 2, 256)])
        alike(f, *[(small.astype(np.int64), n, op) for n in (1, 2**40, -(2**63))])


def test_python_numbers_are_rounded_to_the_dtype():
    with np.errstate(all="ignore"):
        for dtype in (np.float16, np.float32, np.float64):
            alike(lambda a: (a * 1e6, a + 0.1, 0.1 * a, a > 0.1), (np.array([0.0, 1.0, 0.1], dtype),), fullgraph=True)


def test_what_is_not_traced_is_left_to_numpy():
    a = np.ones(3)
    for b in (2j, [1, 2, 3], "x", None, np.array([1j] * 3)):
        alike(lambda a, b: (a * b, weft.ones(1)) if b is not None else (a == b, weft.ones(1)), (a, b))
        alike(lambda a, b: (b == a, weft.ones(1)), (a, b))
    alike(lambda m: (m * 2).sum(), (np.ma.array([1, 2], mask=[0, 1]).filled(7),))


def test_the_error_state_counts():
    def f(a, b):
        return a / b, a + 1

    compiled = weft.compile(f, backend="eager")
    a, b = np.ones(2), np.array([0.0, 1.0])
    for how in ("ignore", "raise", "ignore"):
        with np.errstate(all=how):
            want, got = result_of(f, (a, b)), result_of(compiled, (a, b))
            assert want[:2] == got[:2] if how == "raise" else np.array_equal(want[1][0], got[1][0])
            assert want[2:] == got[2:]


@pytest.mark.parametrize("cls", [np.float64, np.float32])
def test_scalars_that_change_are_inputs(cls):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    def f(a, v, x):
        return a * v + 1, v * 2, x * v

    compiled = weft.compile(f, backend=backend)
    a, x = np.arange(3.0), weft.ones(3)
    for n in range(12):
        got, want = compiled(a, cls(n + 0.5), x), f(a, cls(n + 0.5), x)
        for g, w in zip(got, want):
            assert type(g) is type(w) and g.dtype == w.dtype and np.array_equal(np.asarray(g), np.asarray(w))
    assert len(graphs) == 2


def test_views_of_arguments():
    def f(a):
        return a[1:], a.T, a[:, 1], a.reshape(-1), a + 1, a[1:][0]

    compiled = weft.compile(f, backend="eager")
    whole = np.arange(24.0).reshape(4, 6)
    for a in (whole, np.arange(6.0).reshape(2, 3), whole[1:], whole[:, ::2]):
        for got, want in zip(compiled(a), f(a)):
            assert np.array_equal(got, want) and np.shares_memory(got, a) == np.shares_memory(want, a)
            if want.base is None or want.base is a:
                assert got.base is want.base or not np.shares_memory(want, a)
    r = compiled(whole)[0]
    assert r.base is f(whole)[0].base
    r[0, 0] = 77
    assert whole[1, 0] == 77


def test_hash_len_and_iteration_of_arrays():
    def f(a):
        messages = []
        for use in (hash, lambda v: {v: 1}, lambda v: len(v.sum()), lambda v: iter(v.sum()), round, callable):
            try:
                messages.append(use(a))
            except TypeError as e:
                messages.append(str(e))
        return messages, [float for v in a], len(a), a + 1

    alike(f, (np.arange(3.0),))


def test_where_with_an_integer_beyond_the_dtype():
    alike(lambda a, n: np.where(a > 0, a, n), *[(np.array([1, 0, 2], np.uint8), n) for n in (1, 300, -1)])


def test_indices_out_of_bounds_that_nobody_reads():
    alike(lambda x, k: x[k].shape, (weft.ones(3), [1]), (weft.ones(3), [5]), (weft.ones(3), range(2, 4)), (weft.ones(3), [-3]))


def _fill(a):
    a.fill(2)


def _item(a):
    a.reshape(2, 2)[0] = 1


def _in_place(a):
    a += 1


def _out(a):
    np.add(a, 1, out=a)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("write", [_fill, _item, _in_place, _out])
def test_writes_into_read_only_arrays_are_refused_as_numpy_does(write, backend):
    def f(a):
        write(a)
        return a + 1

    def read_only():
        a = np.arange(4.0)
        a.flags.writeable = False
        return a

    compiled = weft.compile(f, backend=backend)
    listed = lambda f: lambda a: f(a).tolist()
    for make in (lambda: np.arange(4.0), read_only, lambda: np.arange(4.0)):  # compiled for one that may be written
        assert result_of(listed(compiled), (make(),)) == result_of(listed(f), (make(),))
    weft._dynamo.reset()
    assert result_of(listed(compiled), (read_only(),)) == result_of(listed(f), (read_only(),))
