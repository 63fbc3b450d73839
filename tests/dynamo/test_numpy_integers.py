"""NumPy's int64 numbers that change from call to call: two compilations, and plain results."""

import numpy as np
import pytest

import weft
from weft import _dynamo as dynamo

NUMBERS = [np.int64(n) for n in (3, 5, 7, 2, 11, 12, 8, 9, 30)]
X = weft.arange(40.0)

PROGRAMS = {
    "factor": lambda x, n: x * n,
    "returned": lambda x, n: (x + 1, n, n + 1, type(n + 1), -n),
    "bound of a slice": lambda x, n: x[n - 1 : n + 2].sum(),
    "index": lambda x, n: x[n],
    "sizes": lambda x, n: weft.zeros((n, 2)).sum() + weft.ones(3, n).shape[1],
    "as a number of Python": lambda x, n: (x * float(n), x[: int(n)], x * n.item()),
    "power": lambda x, n: x**n,
    "remainder": lambda x, n: x * (n % 3),
    "quotient": lambda x, n: x[: n // 2].sum(),
    "of an array": lambda x, n: x * weft.from_numpy(np.arange(40) * n),
    "dtype of an array": lambda x, n: weft.from_numpy(np.arange(3, dtype=np.int32) * n),
    "size of an array": lambda x, n: x.sum() + np.ones(n).sum().item(),
    "facts": lambda x, n: x * n.dtype.itemsize + len(n.shape) + n.ndim if isinstance(n, np.integer) else x,
    "a tensor": lambda x, n: weft.tensor(n) + x,
    "a tensor of several": lambda x, n: weft.tensor([[n, 1], [2, n + 1]]) + x[:2],
}


def show(value):
    return repr(value), [v.dtype for v in (value if isinstance(value, tuple) else (value,)) if hasattr(v, "dtype")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_compilations(name):
    dynamo.reset()
    counting = dynamo.testing.CompileCounter()
    compiled = weft.compile(PROGRAMS[name], backend=counting, fullgraph=True)
    for n in NUMBERS:
        assert show(compiled(X, n)) == show(PROGRAMS[name](X, n))
    assert counting.frame_count == 2


def test_divisors_of_zero_and_large_numbers_are_numpys():
    with np.errstate(all="ignore"):
        compiled = weft.compile(lambda x, n: (x + 1, 7 // n, n * 4), backend="eager", fullgraph=True)
        for n in (3, 2, 0, 2**62):
            assert repr(compiled(X, np.int64(n))) == repr((X + 1, 7 // np.int64(n), np.int64(n) * 4))


def test_a_branch_on_one_is_guarded():
    compiled = weft.compile(lambda x, n: x * 2 if n > 5 else x * 3, backend="eager", fullgraph=True)
    assert [float(compiled(weft.ones(1), n)) for n in NUMBERS] == [2.0 if n > 5 else 3.0 for n in NUMBERS]
    assert [float(weft.compile(lambda x, n: x * weft.tensor(n), fullgraph=True)(weft.ones(1), n)) for n in (2, 3, 4, 5)] == [
        2,
        3,
        4,
        5,
    ]


def whole(a, n):
    a[:] = n


def masked(a, n):
    a[a > 0] = n


@pytest.mark.parametrize("store", [whole, masked, lambda a, n: a.fill(n)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float32])
@pytest.mark.parametrize("numbers", [(1, 2, 3, 300, -1), (2, 3, 2**40, 2**63), (1.0, 2.5, -0.5, 300.0, -1.0, float("nan"), 1e30)])
def test_integer_arrays_refuse_the_numbers_that_numpy_refuses(store, dtype, numbers):
    for backend in ("eager", "inductor"):
        dynamo.reset()  # the compilations of one function count together
        compiled = weft.compile(store, backend=backend)
        for n in numbers:
            seen = []
            for f in (store, compiled):
                a = np.ones(3, dtype)
                try:
                    f(a, n)
                except (OverflowError, ValueError) as e:
                    seen.append(repr(e))
                seen.append(a.tobytes())
            assert seen[: len(seen) // 2] == seen[len(seen) // 2 :], n


def test_floats_of_changing_integers_are_computed_by_the_graph():
    def f(x, y):
        return x + 1, y / 2, 0.5 * y - y, 1.5 - y

    counter = dynamo.testing.CompileCounter()
    g = weft.compile(f, backend=counter, fullgraph=True)
    x = weft.ones(2, dtype=weft.float64)
    for i in range(6):
        got, want = g(x, np.int64(i)), f(x, np.int64(i))
        assert [type(v) for v in got] == [type(v) for v in want] and got[1:] == want[1:]
    assert counter.frame_count == 2


def filled(n):
    return np.full(3, n, np.int8), np.full_like(np.zeros(2, np.uint8), n)


NUMBERS_OF_ARRAYS = [
    lambda x, n: np.array([n, 1], dtype=np.int8),
    lambda x, n: np.asarray(n, np.uint8),
    lambda x, n: np.array(np.int64(200), dtype=np.int8),
    lambda x, n: np.array([np.int64(200)], dtype=np.int8),
    lambda x, n: np.array([x.numpy().astype(np.int64).sum(), 1], dtype=np.int8),
    lambda x, n: filled(n),
]
STORES = [
    lambda a, x, n: x.numpy().astype(np.int64).sum(),
    lambda a, x, n: x.numpy().sum(),
    lambda a, x, n: x.numpy().astype(np.int64).sum()[()],
    lambda a, x, n: [n, x.numpy().sum(), 1],
    lambda a, x, n: [n, 131, 2],
    lambda a, x, n: np.array(200),
    lambda a, x, n: np.array([200]),
    lambda a, x, n: [n],
]


def outcome_of(f, *args):
    try:
        found = f(*args)
    except (OverflowError, ValueError, TypeError) as e:
        return repr(e)
    return [(type(v), v.dtype, v.tobytes()) for v in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("made", NUMBERS_OF_ARRAYS)
def test_arrays_are_made_of_the_numbers_that_numpy_takes(made):
    compiled = weft.compile(made, backend="eager")
    for x, n in ((weft.ones(4), 2), (weft.ones(4) * 50, 3), (weft.ones(4), 200), (weft.ones(4), -5)):
        assert outcome_of(compiled, x, n) == outcome_of(made, x, n)


@pytest.mark.parametrize("value", STORES)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32])
@pytest.mark.parametrize("key", [1, slice(None)])
def test_numbers_of_arrays_and_lists_are_stored_as_numpy_stores_them(value, dtype, key):
    dynamo.reset()

    def f(x, n):
        a = np.zeros(3, dtype)
        a[key] = value(a, x, n)
        return a

    compiled = weft.compile(f, backend="eager")
    for x, n in ((weft.ones(4), 2), (weft.ones(4) * 50, 3), (weft.ones(4), 200), (weft.ones(4), -5)):
        assert outcome_of(compiled, x, n) == outcome_of(f, x, n)
