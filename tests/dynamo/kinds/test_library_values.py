"""Values of the standard library inside compiled functions: captured whole, and seen when they change."""

import collections
import contextvars
import enum
import functools
import inspect
import os
import sys
import threading
import typing
import weakref

import pytest

import weft
from tests.dynamo.kinds.alike import alike

T = typing.TypeVar("T")
VARIABLE = contextvars.ContextVar("VARIABLE", default=2)
EMPTY = contextvars.ContextVar("EMPTY")


class OfDict(dict):
    pass


class Bits(enum.Flag):
    A = 1
    B = 2


def default_dicts(x):
    d = collections.defaultdict.fromkeys("ab", "c")
    d.setdefault("a", 4)
    return x + 1, d, collections.OrderedDict.fromkeys([1, 2]), OfDict.fromkeys("ab"), dict.fromkeys((1, 2), 3)


def named_tuple_class(x):
    point = collections.namedtuple("point", ["a", "b"], defaults=(None,))
    made = point(x)
    return made.a + 1, made.b, made._fields


def interned(x):
    return x + 1, sys.intern("abc")


def unbound_methods(x):
    return list(map(weft.Tensor.neg, [x, x])), weft.Tensor.abs_(x.clone()), weft.Tensor.add_(x.clone(), 1)


def paths(x):
    return x + 1, os.fspath("a/b"), os.path.join("a", "b", "c.py"), os.path.basename("a/b.c"), os.path.splitext("q.py")


def annotations(x):
    def apply(c: typing.Callable[[T], T], y: typing.List[int], z: typing.Optional[int] = None) -> typing.Tuple[int, ...]:  # noqa: UP006, UP045
        return c(y)

    return apply(lambda v: v + 1, x), typing.Dict[str, int]  # noqa: UP006


def signatures(x):
    def inner(a, b, *rest, c=10, d=11, **more):
        pass

    signature = inspect.signature(inner)
    bound = signature.bind(1, 2, 3, d=12, e=15)
    bound.arguments["d"] = 13
    bound.apply_defaults()
    return x + 1, signature, bound, bound.args, bound.kwargs, list(signature.parameters)


def flags(x):
    both = Bits.A | Bits.B
    return x + (1 if Bits.A in both else 2), both & Bits.B, bool(both & Bits.A), Bits["A"]


def partials(x):
    p = functools.partial(weft.add, x)
    p.note = 3
    return p(x), p.args, p.keywords, p.note, hasattr(p, "other"), p.func, hasattr(p, "__new__")


@pytest.mark.parametrize(
    "f",
    [default_dicts, named_tuple_class, interned, unbound_methods, paths, annotations, signatures, flags, partials],
    ids=lambda f: f.__name__,
)
def test_it_is_captured_whole(f):
    alike(f, (weft.ones(3),), (weft.zeros(3),), fullgraph=True)


def test_a_descriptor_is_a_value():
    shape = weft.Tensor.shape
    alike(lambda d, x: x + d.__get__(x)[0], (shape, weft.ones(3)), (shape, weft.ones(3)), fullgraph=True)


def test_the_environment_is_guarded(monkeypatch):
    def f(x):
        return x + int(os.environ["WEFT_TEST_VALUE"]), os.environ.get("WEFT_TEST_NONE", "d"), os.getenv("WEFT_TEST_VALUE")

    alike(f, *[(weft.ones(3),)] * 3, between=lambda n: monkeypatch.setenv("WEFT_TEST_VALUE", str(n)), fullgraph=True)


def test_the_signature_of_a_function_is_guarded():
    def described(a, b=3):
        pass

    def f(x):
        return x + inspect.signature(described).parameters["b"].default

    def change(n):
        described.__defaults__ = (n,)

    alike(f, *[(weft.ones(3),)] * 3, between=change, fullgraph=True)


def test_what_a_signature_shows_is_guarded_where_it_is_changed_in_place():
    class Described:
        def __init__(self, a: int, *, c=1):
            pass

    def f(x):
        return x + 1, str(inspect.signature(Described.__init__)), str(inspect.signature(Described))

    def change(n):
        Described.__init__.__kwdefaults__["c"] = n
        Described.__init__.__annotations__["a"] = [int, float, str][n % 3]

    alike(f, *[(weft.ones(3),)] * 3, between=change, fullgraph=True)


def test_sets_of_objects_tell_them_apart():
    known, other, third = weft.ones(3), weft.zeros(3), weft.ones(3) * 2

    def count(a, b, c):
        return a + len({known, a, b, c}), b in {a, c}, {a: 1}.get(b, 7)

    compiled = weft.compile(count, backend="eager", fullgraph=True)
    for args in [(other, third, third), (third, other, other), (other, other, other), (known, known, known), (known, other, third)]:
        expected = count(*args)
        found = compiled(*args)
        assert (found[0] == expected[0]).all() and found[1:] == expected[1:]

    def total(x, y):
        s = {x, y}
        return s.pop() * s.pop()

    assert (weft.compile(total, backend="eager", fullgraph=True)(third, third.clone()) == 4).all()


def test_sets_of_objects_come_from_outside():
    x, y = weft.ones(3), weft.ones(3) * 2
    f = weft.compile(lambda s, a: (a + len(s), a in s, sum(s)), backend="eager", fullgraph=True)
    for s, a in (({x, y}, x), ({x, y}, y.clone()), ({x}, x)):
        found = f(s, a)
        assert (found[0] == a + len(s)).all() and found[1] == (a in s) and (found[2] == sum(s)).all()


def test_weak_references():
    x, y = weft.ones(3), weft.ones(3) * 2
    reference = weakref.ref(x)

    @weft.compile(backend="eager", fullgraph=True)
    def f(r, a, b):
        return (weft.sin(b) if r() is not a else weft.cos(b)), weakref.ref(a)() * b

    assert (f(reference, x, y)[0] == weft.cos(y)).all()
    assert (f(reference, y, x)[0] == weft.sin(x)).all()
    gone = weakref.ref(weft.ones(1))
    assert gone() is None
    assert (f(gone, y, x)[0] == weft.sin(x)).all()


class Counted(threading.local):
    by = 3

    def __init__(self):
        self.n = 1


def test_thread_locals():
    local, counted = threading.local(), Counted()

    @weft.compile(backend="eager", fullgraph=True)
    def f(x, l, c):
        l.last = x
        c.n += 1
        return x + getattr(l, "more", 5) + c.n * c.by

    x = weft.zeros(2)
    assert (f(x, local, counted) == 11).all() and local.last is x and counted.n == 2
    local.more = 6
    assert (f(x, local, counted) == 15).all()
    found = []
    thread = threading.Thread(target=lambda: found.append(f(x, local, counted)))
    thread.start()
    thread.join()
    assert (found[0] == 11).all() and counted.n == 3


def test_context_variables_are_guarded():
    def f(x):
        try:
            return x + VARIABLE.get() + EMPTY.get()
        except LookupError:
            return x * EMPTY.get(7)

    def change(n):
        if n:
            VARIABLE.set(n)
            EMPTY.set(n)

    contextvars.copy_context().run(lambda: alike(f, *[(weft.ones(3),)] * 3, between=change, fullgraph=True))


def test_partials_from_outside_keep_attributes():
    p = functools.partial(weft.add, weft.ones(3))
    p.note = 3

    @weft.compile(backend="eager", fullgraph=True)
    def f(g, x):
        g.seen = 4
        return g(x) + g.note

    assert (f(p, weft.ones(3)) == 5).all() and p.__dict__ == {"note": 3, "seen": 4}


def test_a_cached_function_is_looked_through_where_one_graph_is_asked_for():
    @functools.lru_cache
    def doubled(n):
        return n * 2

    def f(x):
        return x + doubled(3)

    assert (weft.compile(f, backend="eager", fullgraph=True)(weft.zeros(2)) == 6).all()
    assert doubled.cache_info().misses == 0
    assert (weft.compile(f, backend="eager")(weft.zeros(2)) == 6).all()
    assert doubled.cache_info().misses == 1


def test_dicts_are_made_from_keys_by_keyword():
    alike(lambda x: (x + 1, collections.OrderedDict.fromkeys(iterable=[1, 2], value=4)), (weft.ones(3),), fullgraph=True)
