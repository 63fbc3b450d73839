"""itertools in plain Python."""

from __future__ import annotations


def chain(*iterables):
    for values in iterables:
        yield from values


def chain_from_iterable(iterables):
    for values in iterables:
        yield from values


def islice(values, *bounds):
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    start = 0 if start is None else start
    step = 1 if step is None else step
    if stop is not None and stop <= 0:
        return
    wanted = start
    i = 0
    for v in values:
        if stop is not None and wanted >= stop:
            return
        if i == wanted:
            yield v
            wanted += step
        i += 1
        if stop is not None and i >= stop:
            return


def repeat(value, times=None):
    if times is None:
        while True:
            yield value
    for _ in range(times):
        yield value


def cycle(values):
    saved = []
    for v in values:
        yield v
        saved.append(v)
    while saved:
        yield from saved


def accumulate(values, func=None, *, initial=None):
    it = iter(values)
    if initial is None:
        try:
            total = next(it)
        except StopIteration:
            return
    else:
        total = initial
    yield total
    for v in it:
        total = total + v if func is None else func(total, v)
        yield total


def product(*iterables, repeat=1):
    pools = [tuple(values) for values in iterables] * repeat
    result = [()]
    for pool in pools:
        result = [(*left, v) for left in result for v in pool]
    yield from result


def starmap(function, values):
    for args in values:
        yield function(*args)


def takewhile(predicate, values):
    for v in values:
        if not predicate(v):
            return
        yield v


def dropwhile(predicate, values):
    it = iter(values)
    for v in it:
        if not predicate(v):
            yield v
            break
    yield from it


def filterfalse(predicate, values):
    for v in values:
        if not (v if predicate is None else predicate(v)):
            yield v


def compress(data, selectors):
    for v, keep in zip(data, selectors):
        if keep:
            yield v


def pairwise(values):
    it = iter(values)
    try:
        a = next(it)
    except StopIteration:
        return
    for b in it:
        yield a, b
        a = b


def zip_longest(*iterables, fillvalue=None):
    pools = [list(values) for values in iterables]
    for i in range(max([len(p) for p in pools]) if pools else 0):
        yield tuple([p[i] if i < len(p) else fillvalue for p in pools])


def combinations(values, r):
    pool = tuple(values)

    def pick(start, count):
        if count == 0:
            return [()]
        return [(pool[i], *rest) for i in range(start, len(pool)) for rest in pick(i + 1, count - 1)]

    yield from pick(0, r)


def permutations(values, r=None):
    pool = tuple(values)

    def pick(used, count):
        if count == 0:
            return [()]
        return [(pool[i], *rest) for i in range(len(pool)) if i not in used for rest in pick((*used, i), count - 1)]

    yield from pick((), len(pool) if r is None else r)


def tee(values, n=2):
    saved = list(values)
    return tuple([iter(saved) for _ in range(n)])


def groupby(values, key=None):
    group = []
    current = None
    first = True
    for v in values:
        k = v if key is None else key(v)
        if first or k != current:
            if not first:
                yield current, iter(group)
            current, group, first = k, [], False
        group.append(v)
    if not first:
        yield current, iter(group)
