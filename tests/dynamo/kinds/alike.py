"""Plain and compiled side by side: results, errors with their texts, and what happened to the arguments."""

import copy

import weft
from tests.dynamo.same import same


def result_of(f, args):
    """("gives", value) or ("raises", class, text)."""
    try:
        return "gives", f(*args)
    except Exception as e:
        return "raises", type(e), str(e)


def copied(value):
    try:
        return copy.deepcopy(value)
    except TypeError:  # views, functions and the like
        return value


def alike(f, *calls, between=None, fullgraph=False):
    """f and weft.compile(f) do the same in each call. `calls`: arguments; each side gets its own copies.

    `between(call number)` happens before each call, once for each side.
    """
    weft.compiler.reset()
    compiled = weft.compile(f, backend="eager", fullgraph=fullgraph)
    for n, args in enumerate(calls or ((),)):
        ours, theirs = (tuple(map(copied, args)) for _ in range(2))
        if between is not None:
            between(n)
        want = result_of(f, ours)
        if between is not None:
            between(n)
        got = result_of(compiled, theirs)
        same(got, want)
        same(theirs, ours)
