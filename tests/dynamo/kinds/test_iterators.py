"""Iterators as results of compiled functions, in every state, and as arguments."""

import collections
import functools
import itertools
import operator

import pytest

import weft
from tests.dynamo.kinds.alike import alike

ITEMS = [3, 1, 2, 5, 4, 7]
MAKERS = {
    "chain": lambda: itertools.chain([1, 2], (3,), [4]),
    "chain.from_iterable": lambda: itertools.chain.from_iterable([[1, 2], [3], [4]]),
    "islice": lambda: itertools.islice(ITEMS, 1, 6, 2),
    "islice of count": lambda: itertools.islice(itertools.count(), 2, None, 3),
    "repeat": lambda: itertools.repeat(5),
    "repeat twice": lambda: itertools.repeat(5, 2),
    "cycle": lambda: itertools.cycle([1, 2]),
    "cycle in its first round": lambda: itertools.cycle(ITEMS),
    "accumulate": lambda: itertools.accumulate(ITEMS),
    "accumulate from": lambda: itertools.accumulate(ITEMS, operator.mul, initial=2),
    "product": lambda: itertools.product(ITEMS, [1, 2]),
    "starmap": lambda: itertools.starmap(max, [(1, 2), (3, 0), (5, 6)]),
    "takewhile": lambda: itertools.takewhile(lambda v: v != 5, ITEMS),
    "dropwhile": lambda: itertools.dropwhile(lambda v: v != 2, ITEMS),
    "filterfalse": lambda: itertools.filterfalse(lambda v: v % 2, ITEMS),
    "compress": lambda: itertools.compress(ITEMS, [1, 0, 1, 1, 0, 1]),
    "pairwise": lambda: itertools.pairwise(ITEMS),
    "zip_longest": lambda: itertools.zip_longest(ITEMS, [1, 2], fillvalue=9),
    "combinations": lambda: itertools.combinations(ITEMS, 2),
    "permutations": lambda: itertools.permutations(ITEMS, 2),
    "combinations_with_replacement": lambda: itertools.combinations_with_replacement(ITEMS, 2),
    "count": lambda: itertools.count(3),
}


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("name", MAKERS)
def test_an_iterator_is_handed_on_in_its_state(name, steps):
    make = MAKERS[name]
    weft._dynamo.reset()

    def advanced(x):
        it = make()
        for _ in range(steps):
            next(it, None)
        return x + 1, it

    expected = advanced(weft.ones(2))[1]
    found = weft.compile(advanced, backend="eager", fullgraph=True)(weft.ones(2))[1]
    assert type(found) is type(expected)
    assert list(itertools.islice(found, 9)) == list(itertools.islice(expected, 9))


class Restarted:
    """An iterator that iter() sets back to a place that it counts."""

    def __init__(self):
        self.n = self.restarts = 0

    def __iter__(self):
        self.restarts += 1
        self.n = self.restarts
        return self

    def __next__(self):
        self.n += 1
        if self.n > 5:
            raise StopIteration
        return self.n


def star_last(x, it):
    a, *rest = it
    return x + a, a, rest


def star_first(x, it):
    next(it)
    *rest, a = it
    return x + a, a, rest


def star_within(x, it):
    try:
        a, *rest, b, c, d, e = it
    except ValueError as error:
        return x + 1, str(error)
    return x + a, rest, b, c, d, e


def without_star(x, it):
    next(it)
    try:
        a, b, c, d = it
    except ValueError as error:
        return x + 1, str(error)
    return x + a, b, c, d


def once_more(x, it):
    return x + next(it), list(iter(it)), it.restarts


@pytest.mark.parametrize("f", [star_last, star_first, star_within, without_star, once_more])
@pytest.mark.parametrize("started", [False, True])
def test_unpacking_asks_for_an_iterator_as_python_does(f, started):
    def inside(x):
        it = Restarted()
        return f(x, iter(it) if started else it), it.restarts

    alike(inside, (weft.ones(2),), fullgraph=True)
    alike(f, (weft.ones(2), Restarted()))


class GivesAList:
    def __iter__(self):
        return [3, 4]


class RefusesToIterate:
    def __iter__(self):
        raise TypeError("my own words")


class FailsToIterate:
    def __iter__(self):
        raise ValueError("my own words")


@pytest.mark.parametrize("cls", [GivesAList, RefusesToIterate, FailsToIterate, object])
@pytest.mark.parametrize("look", [operator.contains, operator.countOf, operator.indexOf, lambda o, i: i not in o])
def test_what_cannot_be_searched_is_refused_in_the_words_of_python(cls, look):
    def caught(x):
        try:
            found = look(cls(), 3)
        except (TypeError, ValueError) as e:
            found = type(e), str(e)
        return x + 1, found

    alike(caught, (weft.ones(2),), fullgraph=True)


@pytest.mark.parametrize("over", [range(1, 5), [1, 2, 3], (1, 2, 3), [7]])
def test_an_iterator_from_outside_is_advanced(over):
    @weft.compile(backend="eager", fullgraph=True)
    def add_two(x, it):
        return x + next(it) + next(it, 100)

    for start in (0, 1):
        found, expected = iter(over), iter(over)
        values = [next(it) for it in (found, expected) for _ in range(start)]
        if len(values) // 2 + 1 > len(over):
            continue
        assert add_two(weft.zeros(1), found).item() == next(expected) + next(expected, 100)
        assert list(found) == list(expected)


def test_in_asks_an_iterator_no_further_than_needed():
    class Given:
        def __iter__(self):
            yield 1
            raise KeyError("asked too much")

    given = Given()
    assert weft.compile(lambda x: (x, 1 in given), backend="eager", fullgraph=True)(weft.ones(1))[1] is True


def test_groups_that_nobody_has_begun_with():
    def f(x, values):
        groups = itertools.groupby(values, key=lambda v: v > 2)
        weft._dynamo.graph_break()
        return x * len(values), [(k, list(g)) for k, g in groups]

    compiled, x = weft.compile(f, backend="eager"), weft.ones(2)
    for values in ([1, 2, 3], [-1, 2, 3], [7, 2, 3]):
        assert compiled(x, values)[1] == f(x, values)[1]


def test_the_type_of_an_iterator_over_a_subclass_of_str():
    class Name(str):
        pass

    def f(x, text):
        return type(iter(text)).__name__, list(iter(text)), x + 1

    for text in ("abc", Name("abc"), Name(""), Name("ä")):
        assert weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1), text)[:2] == f(weft.ones(1), text)[:2]


class Counting:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        if self.n > 2:
            raise StopIteration("end")
        return self.n


def test_an_object_that_is_its_own_iterator():
    def f(x, o):
        it = iter(o)
        found = [it is o, type(it) is Counting, next(it), next(it, 9), next(it, 9), list(iter(Counting()))]
        try:
            next(it)
        except StopIteration as e:
            found.append(e.args)
        return found, x + 1

    found = weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1), Counting())[0]
    assert found == f(weft.ones(1), Counting())[0] == [True, True, 1, 2, 9, [1, 2], ("end",)]


def over_a_deque_that_has_changed(d):
    d.append(5)
    seen = []
    for v in d:
        weft._dynamo.graph_break()
        seen.append(v)
    return seen


def over_a_deque_that_changes(d):
    seen = []
    try:
        for v in d:
            weft._dynamo.graph_break()
            seen.append(v)
            d.append(5)
    except RuntimeError as e:
        seen.append(str(e))
    return seen


def back_over_a_deque_that_has_changed(d):
    d.popleft()
    d[0] = 9
    it = reversed(d)
    seen = [next(it)]
    weft._dynamo.graph_break()
    return seen + list(it)


def over_a_deque_made_here(d):
    d = collections.deque(d)
    d.append(5)
    seen = []
    for v in d:
        weft._dynamo.graph_break()
        seen.append(v)
    return seen


def over_a_deque_whose_items_are_set(d):
    seen = []
    for i, v in enumerate(d):
        d[i], d[-1] = d[-1], v + 10
        weft._dynamo.graph_break()
        seen.append(v)
    return seen


class Queue(collections.deque):
    pass


def over_a_queue_made_here(d):
    d = Queue(d)
    seen = []
    for v in d:
        d[0] = 7
        weft._dynamo.graph_break()
        seen.append(v)
    return seen


@pytest.mark.parametrize(
    "f",
    [
        over_a_deque_that_has_changed,
        over_a_deque_that_changes,
        back_over_a_deque_that_has_changed,
        over_a_deque_made_here,
        over_a_deque_whose_items_are_set,
        over_a_queue_made_here,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("kind", [collections.deque, Queue])
def test_deques_behind_a_break(f, kind):
    alike(f, (kind([1, 2, 3]),))


class Counted:
    """An iterator that knows how often it was asked for one."""

    def __init__(self):
        self.n, self.asked = 0, []

    def __iter__(self):
        self.asked.append(self.n)
        return self

    def __next__(self):
        self.n += 1
        if self.n > 3:
            raise StopIteration
        return self.n


OVER_COUNTED = {
    "zip": lambda o: zip(o, [7, 8, 9]),
    "map": lambda o: map(str, o),
    "filter": lambda o: filter(None, o),
    "enumerate": lambda o: enumerate(o),
    "islice": lambda o: itertools.islice(o, 3),
    "chain": lambda o: itertools.chain(o, [1]),
    "zip_longest": lambda o: itertools.zip_longest(o, [1]),
    "cycle": lambda o: itertools.cycle(o),
    "takewhile": lambda o: itertools.takewhile(lambda v: v < 3, o),
    "dropwhile": lambda o: itertools.dropwhile(lambda v: v < 2, o),
    "accumulate": lambda o: itertools.accumulate(o),
    "compress": lambda o: itertools.compress(o, [1, 0, 1]),
    "pairwise": lambda o: itertools.pairwise(o),
}


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("name", OVER_COUNTED)
def test_an_iterator_of_the_program_is_asked_for_itself_once(name, steps):
    def f(x, o):
        it = OVER_COUNTED[name](o)
        first = [next(it) for _ in range(steps)]
        weft._dynamo.graph_break()
        return x + 1, first, [next(it, None) for _ in range(4)], o.asked, o.n

    def told(f):
        x, *rest = f(weft.ones(1), Counted())
        return rest

    weft.compiler.reset()
    assert told(weft.compile(f, backend="eager")) == told(f)


@pytest.mark.parametrize("f", [operator.indexOf, operator.countOf, lambda o, v: functools.reduce(max, o, v)])
def test_so_it_is_by_functions_that_search(f):
    def told(call):
        o = Counted()
        return call(weft.ones(1), o)[1], o.asked, o.n

    def call(x, o):
        return x + 1, f(o, 2)

    weft.compiler.reset()
    assert told(weft.compile(call, backend="eager", fullgraph=True)) == told(call)


class Told:
    """An iterator that notes what it is asked for."""

    def __init__(self, log):
        self.left, self.log = 2, log

    def __iter__(self):
        self.log.append("iter")
        return self

    def __next__(self):
        self.log.append("next")
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


def into_a_slice(x, items):
    into = [1, 2, 3, 4]
    into[1:2] = items
    return x + 1, into


def into_every_second(x, items):
    into = [1, 2, 3, 4]
    into[::2] = items
    return x + 1, into


def into_two(x, items):
    a, b = itertools.tee(items)
    return x + 1, list(a), list(b)


@pytest.mark.parametrize("f", [into_a_slice, into_every_second, into_two])
def test_an_iterator_is_asked_for_itself_as_often_as_by_python(f):
    logs: list = [[], []]
    want, got = f(weft.ones(1), Told(logs[0])), weft.compile(f)(weft.ones(1), Told(logs[1]))
    assert str(got) == str(want) and logs[1] == logs[0]


@pytest.mark.parametrize("step", [True, False, 1, 2, 1.5])
def test_counts_of_bools_are_ints_by_ones_only(step):
    def f(x, start, step):
        c = itertools.count(start, step)
        return x + 1, [(type(v).__name__, v) for v in itertools.islice(c, 3)], repr(c), next(itertools.count(start))

    alike(f, *((weft.ones(1), start, step) for start in (True, False, 1, 1.5)))
