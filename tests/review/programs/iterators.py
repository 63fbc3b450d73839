"""itertools and operator as C has them: what is done at the call, what each item costs, and what the objects are."""

import enum
import functools
import itertools as it
import operator as op

import weft
from tests.review.harness import failure, norm, prog, x0


def each(C, functions, *args):
    """Two calls of each function, compiled by itself."""
    told = []
    for function in functions:
        f = C(function)
        for _ in range(2):
            try:
                told.append(norm(f(x0(), *args)))
            except Exception as e:
                told.append(failure(e))
    return told


def caught(*functions):
    """What each function gives or raises, where a handler is around it."""
    told = []
    for function in functions:
        try:
            told.append(function())
        except Exception as e:
            told.append((type(e).__name__, str(e)))
    return told


def alone(C, *functions):
    """What functions give or raise in a compiled one, each as if it were the only one."""
    told = []
    for function in functions:
        weft.compiler.reset()
        told.append(norm(C(lambda x, function=function: (x + 1, caught(function)))(x0())))
    return told


class Log:
    """An iterable that tells of each step."""

    def __init__(self, n):
        self.n, self.log = n, []

    def __iter__(self):
        self.log.append("iter")
        for i in range(self.n):
            self.log.append(i)
            yield i
        self.log.append("end")


@prog
def refused_at_the_call(C):
    xs = [1, 2, 3]
    return alone(
        C,
        lambda: it.islice(xs, -1), lambda: it.islice(xs, 1, 2, 0), lambda: it.islice(xs, "a"), lambda: it.islice(xs, -1, 2),
        lambda: it.combinations(xs, -1), lambda: it.combinations(xs, 1.5), lambda: it.permutations(xs, "a"),
        lambda: it.count("a"), lambda: it.repeat(1, None), lambda: it.product(xs, repeat=-1), lambda: it.tee(xs, -1),
        lambda: it.cycle(5), lambda: it.accumulate(5), lambda: it.starmap(max, 5), lambda: it.takewhile(bool, 5),
        lambda: it.pairwise(5), lambda: it.zip_longest(xs, 5), lambda: it.groupby(5), lambda: it.compress(xs, 5),
        lambda: list(it.starmap(max, [5])), lambda: functools.reduce(max, []), lambda: it.islice(xs), lambda: it.tee(),
    )  # fmt: skip


@prog
def an_item_at_a_time(C):
    def f(x):
        a, b = Log(9), Log(9)
        head = [list(it.islice(iter(a), 1, 8, 3)), a.log[:]]
        longest = it.zip_longest(Log(1), b, fillvalue=0)
        first = [next(longest), next(longest), b.log[:]]
        one, two = it.tee(Log(3))
        tees = [next(one), next(one), next(two), list(one), list(two)]
        source = iter(range(9))
        rest = [list(it.islice(source, 2)), list(it.islice(source, 3, 3)), next(source)]
        return x, head, first, tees, rest, [next(t) for t in it.tee(it.count(3))], [*zip(it.zip_longest("a", it.count()), "xyz")]

    return each(C, [f])


@prog
def groups_share_their_iterator(C):
    def f(x):
        g = it.groupby([1, 1, 2, 2, 3])
        (a, first), (b, second) = next(g), next(g)
        late = [a, list(first), b, next(second)]
        c, third = next(g)
        seen = []
        key = lambda v: seen.append(v) or v % 2
        keyed = [(k, next(members)) for k, members in it.groupby([1, 3, 2, 4, 5], key)]
        return x, late, c, list(third), list(second), keyed, seen

    def g(x):
        nan = float("nan")
        return x, len(list(it.groupby([nan, nan])))

    return each(C, [f, g])


@prog
def what_the_objects_are(C):
    def f(x, xs):
        made = [it.chain(xs), it.islice(xs, 1), it.tee(xs)[0], it.groupby(xs), next(it.groupby(xs))[1], it.cycle(xs), it.repeat(1)]
        kinds = [type(m).__name__ for m in made], [isinstance(made[0], it.chain), hasattr(made[0], "send")]
        getters = op.itemgetter(1), op.attrgetter("real"), op.methodcaller("index", 2)
        return x + 1, kinds, [type(g).__name__ for g in getters], getters[:2], getters[2](xs), isinstance(getters[0], op.itemgetter)

    return each(C, [f, lambda x, xs: (x, repr(op.itemgetter(1)), repr(op.attrgetter("a.b")))], [1, 2])


@prog
def getters_refused(C):
    return alone(
        C,
        lambda: op.itemgetter(), lambda: op.attrgetter(3), lambda: op.methodcaller(), lambda: op.methodcaller(3),
        lambda: op.itemgetter(1)(), lambda: op.length_hint(5, "a"), lambda: op.length_hint(5, 3), lambda: op.length_hint([1]),
    )  # fmt: skip


@prog
def hints_of_length(C):
    class Hinted:
        def __length_hint__(self):
            return 7

    return each(C, [lambda x: (x, op.length_hint(Hinted(), 3)), lambda x: (x, op.length_hint(it.repeat(1, 3)))])


@prog
def throw_and_close_reach_what_is_delegated_to(C):
    told = []

    class Sub:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 2:
                raise StopIteration("end")
            return self.n

        def throw(self, e):
            told.append(("throw", type(e).__name__ if isinstance(e, Exception) else e.__name__))
            if self.n > 1:
                raise StopIteration("thrown")
            return "answer"

        def close(self):
            told.append("close")

    def inner():
        try:
            yield 1
        except KeyError:
            yield "caught"
        finally:
            told.append("finally")
        return "value"

    def outer(sub):
        got = yield from sub
        yield got

    def f(x):
        p, q = outer(inner()), outer(Sub())
        seen = [next(p), p.throw(KeyError), next(p), next(q), q.throw(ValueError), next(q), q.throw(ValueError), list(q)]
        r = outer(Sub())
        next(r)
        r.close()
        s = outer(inner())
        next(s)
        try:
            s.throw(TypeError("t"))
        except TypeError as e:
            seen.append(str(e))
        dropped = outer(Sub())
        next(dropped)
        del dropped
        told.append("dropped")
        return x, seen

    return each(C, [f]), told


@prog
def stop_iteration_in_a_generator(C):
    def g():
        yield 1
        raise StopIteration(3)

    def f(x):
        try:
            return x, list(g())
        except RuntimeError as e:
            return x, str(e), type(e.__cause__).__name__

    return each(C, [f])


@prog
def enum_members_of_str_and_int(C):
    class Text(enum.StrEnum):
        A = "bee"

    class Number(enum.IntEnum):
        two = 2

    return each(C, [lambda x: (x, Text.A.upper(), Text.A.join("ab"), Number.two.bit_length(), Text.A.startswith("b"))])
