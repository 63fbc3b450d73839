"""Library functions written in C, in plain Python: traced like the user's code.

ITERATORS: what makes an iterator → the function that gives its items. GETTERS: class → what a call of its objects does.
"""

from __future__ import annotations

import itertools
import operator

from dynamo.polyfills import iteration


def reduce(function, iterable, initial=..., /):
    """functools.reduce"""
    it, end = iter(iterable), object()
    total = next(it, end) if initial is ... else initial
    if total is end:
        raise TypeError("reduce() of empty iterable with no initial value")
    for v in it:
        total = function(total, v)
    return total


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
    for name, value in x.__dict__.items():
        object.__setattr__(new, name, value)
    return new


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
