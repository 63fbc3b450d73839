"""Library functions written in C, in plain Python: traced like the user's code.

TABLE: C callable → its definition here. PYTHON: Python functions of the standard library with a simpler definition.
"""

from __future__ import annotations

import itertools
import operator

from dynamo.polyfills import iteration


def reduce(function, values, *initial):
    """functools.reduce"""
    it = iter(values)
    if initial:
        total = initial[0]
    else:
        try:
            total = next(it)
        except StopIteration:
            raise TypeError("reduce() of empty iterable with no initial value") from None
    for v in it:
        total = function(total, v)
    return total


def itemgetter(*keys):
    """operator.itemgetter"""
    if len(keys) == 1:
        key = keys[0]
        return lambda obj: obj[key]
    return lambda obj: tuple([obj[k] for k in keys])


def attrgetter(*names):
    """operator.attrgetter"""

    def get(obj, path):
        for name in path.split("."):
            obj = getattr(obj, name)
        return obj

    if len(names) == 1:
        name = names[0]
        return lambda obj: get(obj, name)
    return lambda obj: tuple([get(obj, n) for n in names])


def methodcaller(name, /, *args, **kwargs):
    """operator.methodcaller"""
    return lambda obj: getattr(obj, name)(*args, **kwargs)


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


TABLE = {
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
    itertools.permutations: iteration.permutations,
    itertools.tee: iteration.tee,
    itertools.groupby: iteration.groupby,
    operator.itemgetter: itemgetter,
    operator.attrgetter: attrgetter,
    operator.methodcaller: methodcaller,
}
