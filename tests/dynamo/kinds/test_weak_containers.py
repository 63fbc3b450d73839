"""Weak dictionaries and sets: their entries are found by the objects that they refer to."""

import gc
import weakref

import pytest
from weft._dynamo.testing import CompileCounter

import weft


class Thing:
    def __init__(self, v):
        self.v = v


def held_by_a_dictionary():
    thing, kept = Thing(1), weakref.WeakValueDictionary()
    kept["a"] = thing
    before = len(kept)
    del thing
    return before, "a" in kept


def held_by_a_set():
    thing = Thing(1)
    kept = weakref.WeakSet([thing])
    del thing
    return len(kept)


def held_by_a_proxy():
    thing = Thing(1)
    stand_in = weakref.proxy(thing)
    stand_in.v = 3
    return thing.v, stand_in.v


def finalized():
    thing, told = Thing(1), []
    end = weakref.finalize(thing, told.append, 1)
    thing = None
    return told, end.alive, thing


@pytest.mark.parametrize("made", [held_by_a_dictionary, held_by_a_set, held_by_a_proxy, finalized])
def test_what_is_made_inside_ends_where_it_ends(made):
    expected = made()
    f = weft.compile(lambda x: (x + 1, made()), backend="eager")
    assert [f(weft.ones(1))[1] for _ in range(3)] == [expected] * 3


def captured(f):
    weft._dynamo.reset()
    return weft.compile(f, backend="eager", fullgraph=True)


def test_dictionaries_by_weak_keys_are_read():
    a, b = Thing(1), Thing(2)
    d = weakref.WeakKeyDictionary({a: 5})
    f = captured(lambda x, k: (x * d.get(k, 7), k in d, len(d), [key.v for key in d], list(d.values())))
    x = weft.ones(1)
    assert [f(x, a)[0].item(), *f(x, a)[1:]] == [5, True, 1, [1], [5]]
    assert [f(x, b)[0].item(), *f(x, b)[1:]] == [7, False, 1, [1], [5]]
    d[b] = 6
    assert [f(x, b)[0].item(), *f(x, b)[1:]] == [6, True, 2, [1, 2], [5, 6]]


def test_and_written():
    a, b = Thing(1), Thing(2)
    d = weakref.WeakKeyDictionary({a: 5})

    def f(x, k):
        d[k] = d.get(k, 0) + 1
        return x * d[k]

    g = captured(f)
    assert [g(weft.ones(1), k).item() for k in (a, b, b)] == [6, 1, 2] and dict(d) == {a: 6, b: 2}

    def without(x, k):
        del d[k]
        return x + len(d)

    assert captured(without)(weft.ones(1), a).item() == 2 and dict(d) == {b: 2}
    del b
    gc.collect()
    assert len(d) == 0  # what captured code put there does not outlive its key either


def test_dictionaries_of_weak_values():
    a, b = Thing(3), Thing(4)
    d = weakref.WeakValueDictionary(a=a)

    def f(x):
        d["b"] = b
        return x * d["a"].v, [v.v for v in d.values()], "c" in d, d["b"] is b

    assert captured(f)(weft.ones(1))[1:] == ([3, 4], False, True) and dict(d) == {"a": a, "b": b}


def test_weak_sets():
    a, b = Thing(3), Thing(4)
    s = weakref.WeakSet([a])

    def f(x, k):
        s.add(k)
        return x + 1, a in s, k in s, len(s)

    assert captured(f)(weft.ones(1), b)[1:] == (True, True, 2) and set(s) == {a, b}


def test_a_key_that_comes_is_guarded():
    a, counter = Thing(1), CompileCounter()
    d = weakref.WeakKeyDictionary()
    f = weft.compile(lambda x, k: x * d[k] if k in d else x - 1, backend=counter, fullgraph=True)
    assert f(weft.ones(1), a).item() == 0
    d[a] = 9
    assert f(weft.ones(1), a).item() == 9 and counter.frame_count == 2
    del d[a]
    assert f(weft.ones(1), a).item() == 0 and counter.frame_count == 2


def test_a_reference_keeps_the_hash_that_it_had_once():
    class Compared(Thing):
        def __eq__(self, other):  # (so that objects have no hash)
            return self is other

    thing = Thing(1)
    reference, d = weakref.ref(thing), weakref.WeakKeyDictionary({thing: 5})
    f = weft.compile(lambda x: (x + d[thing], reference() is thing), backend="eager")
    assert f(weft.ones(1))[0].item() == 6
    thing.__class__ = Compared
    assert f(weft.ones(1))[0].item() == 6
    thing.__class__ = Thing
    assert f(weft.ones(1))[0].item() == 6


def test_a_reference_that_was_never_hashed_is_refused_where_objects_are():
    class Compared(Thing):
        def __eq__(self, other):
            return self is other

    thing = Thing(1)
    d = weakref.WeakKeyDictionary({thing: 5})
    thing.__class__ = Compared
    f = weft.compile(lambda x: x + d[thing], backend="eager")
    for _ in range(2):
        with pytest.raises(TypeError, match="unhashable type: 'Compared'"):
            f(weft.ones(1))


def test_a_trace_that_ends_in_an_error_keeps_no_object():
    things = [Thing(1), Thing(2)]
    d, s = weakref.WeakKeyDictionary({things[0]: 1}), weakref.WeakSet(things)
    f = weft.compile(lambda x: (x + 1, sorted(t.v for t in s), [d[t] for t in things]), backend="eager")
    gc.disable()
    try:
        with pytest.raises(KeyError):
            f(weft.ones(1))
        things.pop()
        assert len(s) == 1
        things[0], first = Thing(3), things[0]  # (of which the look-up finds that it is none of the keys)
        with pytest.raises(KeyError):
            f(weft.ones(1))
        del first
        assert len(s) == 0
    finally:
        gc.enable()


def test_a_dictionary_keeps_the_hashes_that_its_references_had():
    class Hashing(Thing):
        pass

    things = [Hashing(1), Hashing(2)]
    d = weakref.WeakKeyDictionary(zip(things, (5, 6)))

    def f(x):
        try:
            return x + 1, [d[t] for t in things], [t in d for t in things], len(d)
        except KeyError:
            return x - 1

    compiled, same = weft.compile(f, backend="eager"), lambda: repr(compiled(weft.ones(1))) == repr(f(weft.ones(1)))
    assert same()
    Hashing.__hash__ = lambda self: 7
    assert same()
    things.append(Hashing(3))
    d[things[-1]] = 8
    assert same()
    del Hashing.__hash__
    assert same()
    things.pop(0)
    assert same()


def test_a_dictionary_that_compiled_code_fills_again_has_the_hashes_of_its_references():
    class Hashing(Thing):
        pass

    def play(compile):
        things = [Hashing(1), Hashing(2)]
        d, v, s = weakref.WeakKeyDictionary({things[0]: 5}), weakref.WeakValueDictionary(a=things[1]), weakref.WeakSet(things)

        def f(x, t):
            r = [t in d, d.get(t, 0), len(d), t in s, len(s)]
            d[t] = t.v + 1
            s.add(t)
            v[f"key {t.v}"] = t
            return x * d[t], r, sorted(v)

        f, told = compile(f), []
        for hashing in (False, True, False, True, False):
            if hashing:
                Hashing.__hash__ = lambda self: 7
            elif "__hash__" in vars(Hashing):
                del Hashing.__hash__
            told += [f(weft.ones(1), things[0])[1:], sorted(hash(r) == object.__hash__(r()) for r in d.data)]
            told.append([things[0] in d, d.get(things[0])])
        return told

    assert play(lambda f: weft.compile(f, backend="eager")) == play(lambda f: f)
