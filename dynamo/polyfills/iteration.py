"""itertools in plain Python: what C does at the call is done at the call, and the rest as items are asked for.

Each gives a generator, which the tracer takes for an object of the class that it stands for (`disguised`). From the variables of
a generator that stands at a `yield` Python's own iterator is made again: dynamo/variables/library_iterator.py knows their names.
"""

from __future__ import annotations

import sys
from operator import index  # (programs patch modules, and what looks into them must not see it)

from aten.scalar.unpatched import itertools


class Given:
    """Gives an iterator to a loop or to another iterator, which would ask it for one: an `__iter__` of the program runs once."""

    __slots__ = ("iterator",)

    def __init__(self, iterator):
        self.iterator = iterator

    def __iter__(self):
        return self.iterator


def disguised(generator, like):
    """The generator, for an object of the class of the iterators that `like` makes (the tracer has a rule for this)."""
    return generator


def chain(*iterables):
    return chain_from_iterable(iterables)


def chain_from_iterable(iterable, /):
    it = iter(iterable)

    def items():
        for part in Given(it):
            values = iter(part)
            yield from Given(values)

    return items()


def bound(value):
    """A bound of islice as an int; -1 for what is none."""
    try:
        found = index(value)
    except Exception:  # C forgets what was raised as well
        found = -1
    return found if found <= sys.maxsize else -1


def islice(iterable, start, stop=..., step=None, /):
    if stop is ...:
        start, stop = None, start
    last = None if stop is None else bound(stop)
    if last == -1:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    first = 0 if start is None else bound(start)
    if first < 0 or (last is not None and last < 0):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    by = 1 if step is None else bound(step)
    if by < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    it = iter(iterable)

    def items(wanted, last, by):
        i, end = 0, object()
        while True:
            while i < wanted:
                if next(it, end) is end:
                    return
                i += 1
            v = next(it, end) if last is None or i < last else end
            if v is end:
                return
            yield v
            i += 1
            wanted = wanted + by if last is None or wanted + by < last else last

    return items(first, last, by)


def repeat(object, times=...):
    def forever():
        while True:
            yield object

    def some(count):
        left = count
        while left > 0:
            left -= 1
            yield object

    return forever() if times is ... else some(index(times))


def cycle(iterable, /):
    it = iter(iterable)

    def items():
        saved, _at = [], None
        for v in Given(it):
            yield v
            saved.append(v)
        while saved:
            for _at, v in enumerate(saved):
                yield v

    return items()


def accumulate(iterable, func=None, *, initial=None):
    it = iter(iterable)

    def items():
        end = object()
        total = next(it, end) if initial is None else initial
        if total is end:
            return
        yield total
        for v in Given(it):
            total = total + v if func is None else func(total, v)
            yield total

    return items()


def product(*iterables, repeat=1):
    times = index(repeat)
    if times < 0:
        raise ValueError("repeat argument cannot be negative")
    pools = [tuple(values) for values in iterables] * times

    def items():
        result = [()]
        for pool in pools:
            result = [(*left, v) for left in result for v in pool]
        for _given, v in enumerate(result):
            yield v

    return items()


def starmap(function, iterable, /):
    it = iter(iterable)

    def items():
        for args in Given(it):
            yield function(*tuple(args))

    return items()


def takewhile(predicate, iterable, /):
    it = iter(iterable)

    def items():
        for v in Given(it):
            if not predicate(v):
                return
            yield v

    return items()


def dropwhile(predicate, iterable, /):
    it = iter(iterable)

    def items():
        for v in Given(it):
            if not predicate(v):
                yield v
                break
        for v in Given(it):
            yield v

    return items()


def filterfalse(predicate, iterable, /):
    it = iter(iterable)

    def items():
        for v in Given(it):
            if not (v if predicate is None else predicate(v)):
                yield v

    return items()


def compress(data, selectors):
    values, keeps = iter(data), iter(selectors)

    def items():
        for v, keep in zip(Given(values), Given(keeps)):
            if keep:
                yield v

    return items()


def pairwise(iterable, /):
    it = iter(iterable)

    def items():
        end = object()
        a = next(it, end)
        if a is end:
            return
        for b in Given(it):
            yield a, b
            a = b

    return items()


def zip_longest(*iterables, fillvalue=None):
    its = [iter(values) for values in iterables]

    def items():
        end = object()
        left = len(its)
        while left:
            row = []
            for i, it in enumerate(its):
                v = fillvalue if it is None else next(it, end)
                if v is end:
                    its[i], v = None, fillvalue
                    left -= 1
                    if not left:
                        return
                row.append(v)
            yield tuple(row)

    return items()


def chosen(values, r, following):
    """Tuples of r items, each from those that may follow the places chosen so far."""
    pool = tuple(values)
    if r < 0:
        raise ValueError("r must be non-negative")

    def pick(places):
        if len(places) == r:
            return [tuple([pool[i] for i in places])]
        return [found for i in following(len(pool), places) for found in pick((*places, i))]

    def items(pool, r):
        for _given, v in enumerate(pick(())):
            yield v

    return items(pool, r)


def combinations(iterable, r):
    return chosen(iterable, index(r), lambda n, places: range(places[-1] + 1 if places else 0, n))


def combinations_with_replacement(iterable, r):
    return chosen(iterable, index(r), lambda n, places: range(places[-1] if places else 0, n))


def permutations(iterable, r=None):
    pool = tuple(iterable)
    if not (r is None or isinstance(r, int)):
        raise TypeError("Expected int as r")
    return chosen(pool, len(pool) if r is None else r, lambda n, places: [i for i in range(n) if i not in places])


def tee(iterable, n=2, /):
    n = index(n)
    if n < 0:
        raise ValueError("n must be >= 0")
    if n == 0:
        return ()
    it, end = iter(iter(iterable)), object()  # (which is asked for itself once more)

    def items(link):
        """What follows in a chain of [item, rest of the chain], which whoever comes to its end first makes longer."""
        while True:
            if not link:
                v = next(it, end)
                if v is end:
                    return
                link += [v, []]
            yield link[0]
            link = link[1]

    link: list = []
    return tuple([disguised(items(link), "tee") for _ in range(n)])


def groupby(iterable, key=None):
    it, end = iter(iter(iterable)), object()  # (which is asked for itself once more)
    value = current = wanted = end  # the item read last, its key, and the key of the group given last
    group = None  # whose turn it is

    def step():
        nonlocal value, current
        found = next(it, end)
        if found is end:
            return False
        current = found if key is None else key(found)
        value = found
        return True

    def members(mine, of):
        nonlocal value, current
        while group is mine:
            if value is end and not step():
                return
            if not (of is current or of == current):
                return
            given, value, current = value, end, end
            yield given

    def items(it, key):  # what it is made again of, if nobody has begun with it
        nonlocal wanted, group
        while True:
            group = None
            while current is end or (wanted is not end and (wanted is current or wanted == current)):
                if not step():
                    return
            wanted = current
            group = object()
            yield current, disguised(members(group, wanted), "groupby")

    return items(it, key)


# ------------------------------------------------------------------------------- iterators that are made again behind a graph
def advanced(iterator, steps):
    """`iterator` after so many items."""
    next(itertools.islice(iterator, steps, steps), None)
    return iterator


def placed(iterator, index):
    """An iterator over a list or tuple, the next item of which is that of the index."""
    iterator.__setstate__(index)
    return iterator


def exhausted(iterator):
    """An iterator over nothing, which knows it."""
    next(iterator, None)
    return iterator
