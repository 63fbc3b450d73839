"""Functions with asserts, in a module whose asserts pytest does not rewrite."""

import weft


def with_text(x):
    b = x.sin()
    assert x[0] == 3, "the first is 3"
    return x.cos() + b


def without(x):
    assert (x > 0).all()
    return x.sqrt() * 2


def by_function(x):
    weft._assert(x.sum() > 0, "positive")
    return x + 1


def caught(x):
    try:
        assert x.sum() > 0
    except AssertionError:
        return x - 1
    return x + 1


class Counter:
    calls = 0


counter_of_calls = Counter()


def after_a_change(x):
    counter_of_calls.calls += 1
    assert x.sum() > 0
    return x + 1


def formatted(x):
    assert x.sum() > 0, f"not positive: {x.tolist()}"
    return x + 1


def sum_above_0(x):
    assert x.sum() > 0, "nothing above 0"
    return x + 1
