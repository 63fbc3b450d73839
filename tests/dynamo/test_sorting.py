"""heapq, bisect and cmp_to_key in compiled functions."""

import bisect
import functools
import heapq

import pytest

import weft


def heap_of_numbers(x):
    h = [3, 1, 2, 9, 4, 7, 7, 1]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    given = [heapq.heappop(h), heapq.heappushpop(h, 5), heapq.heappushpop(h, -5), heapq.heapreplace(h, -1)]
    key = lambda v: -v  # noqa: E731
    found = heapq.nsmallest(2, h), heapq.nlargest(3, h), heapq.nsmallest(2, h, key=key), heapq.nlargest(1, h, key=key)
    return x + 1, h, given, found, list(heapq.merge([1, 3], [2]))


def heap_of_tensors(x):
    """A queue of priorities, as schedulers keep it."""
    h = []
    for i, priority in enumerate([0.5, 0.1, 0.9]):
        heapq.heappush(h, (priority, i, x * i))
    return [heapq.heappop(h)[2] for _ in range(3)]


def refused(x):
    texts = []
    empty, wrong = [], ()
    replaced, pushed = lambda: heapq.heapreplace(empty, 1), lambda: heapq.heappush(wrong, 1)
    for call in (lambda: heapq.heappop(empty), replaced, pushed, lambda: heapq.heapify(wrong)):
        try:
            call()
        except (IndexError, TypeError) as e:
            texts.append((type(e).__name__, str(e)))
    return x + 1, texts


def places(x):
    a = [1, 2, 2, 5]
    bisect.insort(a, 3)
    bisect.insort_left(a, 2)
    by = bisect.bisect_right([3, 2, 1], -2, key=lambda v: -v)
    return x + 1, a, bisect.bisect(a, 2), bisect.bisect_left(a, 2), by, bisect.bisect_left(a, 2, 1, 3)


def by_comparing(x):
    key = functools.cmp_to_key(lambda a, b: len(a) - len(b))
    ordered = sorted([1, 3, 2], key=functools.cmp_to_key(lambda a, b: b - a))
    return x * 2, ordered, max("abc", "de", key=key), key("a") < key("bc"), key("a") == key("b")


@pytest.mark.parametrize("f", [heap_of_numbers, heap_of_tensors, refused, places, by_comparing], ids=lambda f: f.__name__)
def test_whole(f):
    x = weft.ones(2)
    compiled = weft.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        assert str(compiled(x)) == str(f(x))


def test_sets_whose_order_does_not_matter():
    def f(x, s):
        t = {1, 2} | s
        t.add(5)
        return x * len(t) + sum(t), sorted(t), max(t), min(t), sorted(t, reverse=True)

    x, given = weft.ones(2), {3, 70}
    got, want = weft.compile(f, backend="eager", fullgraph=True)(x, given), f(x, given)
    assert got[1:] == want[1:] and weft.equal(got[0], want[0])
