"""heapq, bisect and functools.cmp_to_key in plain Python: the comparisons of C, in its order."""

from __future__ import annotations

import _bisect
import _heapq  # type: ignore[import-not-found]
import functools


class Compared:
    """An item whose order a function of two items says: what the keys of cmp_to_key are."""

    __slots__ = ("compare", "obj")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, compare, obj):
        self.compare, self.obj = compare, obj

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0

    def __le__(self, other):
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.compare(self.obj, other.obj) >= 0


def cmp_to_key(mycmp):
    return lambda obj: Compared(mycmp, obj)


# ------------------------------------------------------------------------------------------------- heaps
def less(a, b):
    return a < b


def greater(a, b):
    return b < a


def check_heap(heap, asked, filled=False):
    """asked: by which function, and which argument it calls the heap."""
    if not isinstance(heap, list):
        raise TypeError(f"{asked} must be list, not {type(heap).__name__}")
    if filled and not heap:
        raise IndexError("index out of range")


def rise(heap, start, place, before):
    """Move the item at a place up to where it belongs, below `start`."""
    item = heap[place]
    while place > start:
        parent = (place - 1) >> 1
        if not before(item, heap[parent]):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


def sink(heap, place, before):
    """Move the item at a place down to a leaf, by the first of each two children, and up again."""
    start, end, item = place, len(heap), heap[place]
    child = 2 * place + 1
    while child < end:
        if child + 1 < end and not before(heap[child], heap[child + 1]):
            child += 1
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = item
    rise(heap, start, place, before)


def heappush(heap, item, /):
    check_heap(heap, "heappush() argument 1")
    heap.append(item)
    rise(heap, 0, len(heap) - 1, less)


def pop(heap, before, asked="heappop() argument"):
    check_heap(heap, asked, True)
    last = heap.pop()
    if not heap:
        return last
    found, heap[0] = heap[0], last
    sink(heap, 0, before)
    return found


def replace(heap, item, before, asked="heapreplace() argument 1"):
    check_heap(heap, asked, True)
    found, heap[0] = heap[0], item
    sink(heap, 0, before)
    return found


def arrange(heap, before, asked="heapify() argument"):
    check_heap(heap, asked)
    for place in reversed(range(len(heap) // 2)):
        sink(heap, place, before)


def heappop(heap, /):
    return pop(heap, less)


def heapreplace(heap, item, /):
    return replace(heap, item, less)


def heapify(heap, /):
    arrange(heap, less)


def heappushpop(heap, item, /):
    check_heap(heap, "heappushpop() argument 1")
    if heap and heap[0] < item:
        return replace(heap, item, less)
    return item


def heappop_max(heap, /):
    return pop(heap, greater, "_heappop_max() argument")


def heapreplace_max(heap, item, /):
    return replace(heap, item, greater, "_heapreplace_max() argument 1")


def heapify_max(heap, /):
    arrange(heap, greater, "_heapify_max() argument")


# --------------------------------------------------------------------------------------------- bisection
def bisect_right(a, x, lo=0, hi=None, *, key=None):
    return place_of(a, x, lo, hi, key, True)


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    return place_of(a, x, lo, hi, key, False)


def insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(place_of(a, x if key is None else key(x), lo, hi, key, True), x)


def insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(place_of(a, x if key is None else key(x), lo, hi, key, False), x)


def place_of(a, x, lo, hi, key, behind):
    """Where x belongs among the sorted items of a, `behind` those that are equal or before them."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    high = len(a) if hi is None else hi
    while lo < high:
        middle = (lo + high) // 2
        item = a[middle] if key is None else key(a[middle])
        if (not x < item) if behind else item < x:
            lo = middle + 1
        else:
            high = middle
    return lo


FUNCTIONS = {
    functools.cmp_to_key: cmp_to_key,
    _bisect.bisect_left: bisect_left,
    _bisect.bisect_right: bisect_right,
    _bisect.insort_left: insort_left,
    _bisect.insort_right: insort_right,
    _heapq.heapify: heapify,
    _heapq.heappop: heappop,
    _heapq.heappush: heappush,
    _heapq.heappushpop: heappushpop,
    _heapq.heapreplace: heapreplace,
}
for _max in (heapify_max, heappop_max, heapreplace_max):  # (public from Python 3.14 on)
    FUNCTIONS[getattr(_heapq, _max.__name__, None) or getattr(_heapq, f"_{_max.__name__}")] = _max
