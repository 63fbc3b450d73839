"""Library functions written in C, in plain Python: traced like the user's code.

FUNCTIONS: function of C → its like (of heapq, bisect and functools: sorting.py). ITERATORS: what makes an iterator → the function
that gives its items. GETTERS: class → what a call of its objects does.
"""

from __future__ import annotations

import _operator as operator
import collections
import itertools

from dynamo.polyfills import iteration

NOTHING = object()  # where an argument is left out


def iterator_of(iterable):
    """iter(iterable), None for what cannot be iterated over."""
    try:
        return iter(iterable)
    except TypeError:
        return None


def reduce(function, iterable, initial=NOTHING, /):
    """functools.reduce"""
    it, end = iterator_of(iterable), object()
    if it is None:
        raise TypeError("reduce() arg 2 must support iteration")
    total = next(it, end) if initial is NOTHING else initial
    if total is end:
        raise TypeError("reduce() of empty iterable with no initial value")
    for v in iteration.Given(it):
        total = function(total, v)
    return total


def reduce_from(function, iterable, /, initial=NOTHING):
    """functools.reduce from Python 3.14 on"""
    return reduce(function, iterable, initial)


def get_items(obj, *keys):
    """operator.itemgetter(*keys)(obj)"""
    return obj[keys[0]] if len(keys) == 1 else tuple([obj[k] for k in keys])


def get_attributes(obj, *paths):
    """operator.attrgetter(*paths)(obj)"""

    def get(obj, path):
        for name in path.split("."):
            obj = getattr(obj, name)
        return obj

    return get(obj, paths[0]) if len(paths) == 1 else tuple([get(obj, path) for path in paths])


def call_method(obj, name, /, *args, **kwargs):
    """operator.methodcaller(name, *args, **kwargs)(obj)"""
    return getattr(obj, name)(*args, **kwargs)


def shallow_copy(x):
    """copy.copy of lists, dicts, sets, tuples and objects of plain classes"""
    cls = type(x)
    if cls in (list, dict, set):
        return x.copy()
    if cls in (tuple, int, float, str, bool, type(None), frozenset, bytes, complex):
        return x
    copier = getattr(cls, "__copy__", None)
    if copier is not None:
        return copier(x)
    new = object.__new__(cls)
    new.__dict__.update(x.__dict__)
    return new


def set_attributes(obj, attributes):
    """What copy.deepcopy does to a new object: the attributes without what its class makes of setting one"""
    for name, value in attributes:
        object.__setattr__(obj, name, value)


def searched(a):
    """iter(a), to look for an item: C answers every TypeError of it by one of its own, as the rule for this function does."""
    return iter(a)


def count_of(a, b, /):
    """operator.countOf"""
    count = 0
    for x in iteration.Given(searched(a)):
        if x is b or x == b:
            count += 1
    return count


def index_of(a, b, /):
    """operator.indexOf"""
    at = 0
    for x in iteration.Given(searched(a)):
        if x is b or x == b:
            return at
        at += 1
    raise ValueError("sequence.index(x): x not in sequence")


def call(obj, /, *args, **kwargs):
    """operator.call"""
    return obj(*args, **kwargs)


def count_elements(mapping, iterable, /):
    """collections._count_elements, of Counter"""
    get = mapping.get
    for element in iterable:
        mapping[element] = get(element, 0) + 1


FUNCTIONS = {
    collections._count_elements: count_elements,  # type: ignore[attr-defined]
    operator.countOf: count_of,
    operator.indexOf: index_of,
    operator.call: call,
}
ITERATORS = {
    itertools.chain: iteration.chain,
    itertools.chain.from_iterable: iteration.chain_from_iterable,
    itertools.islice: iteration.islice,
    itertools.repeat: iteration.repeat,
    itertools.cycle: iteration.cycle,
    itertools.accumulate: iteration.accumulate,
    itertools.product: iteration.product,
    itertools.starmap: iteration.starmap,
    itertools.takewhile: iteration.takewhile,
    itertools.dropwhile: iteration.dropwhile,
    itertools.filterfalse: iteration.filterfalse,
    itertools.compress: iteration.compress,
    itertools.pairwise: iteration.pairwise,
    itertools.zip_longest: iteration.zip_longest,
    itertools.combinations: iteration.combinations,
    itertools.combinations_with_replacement: iteration.combinations_with_replacement,
    itertools.permutations: iteration.permutations,
    itertools.groupby: iteration.groupby,
}
GETTERS = {operator.itemgetter: get_items, operator.attrgetter: get_attributes, operator.methodcaller: call_method}
