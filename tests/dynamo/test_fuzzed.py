"""What the Python fuzzer found, each once."""

import collections
import dataclasses
import enum

import pytest

import weft
from tests.dynamo.kinds.alike import alike

x = weft.ones(2)


class Colour(enum.IntEnum):
    RED = 1


def test_attributes_of_enumeration_members_are_read_from_the_member():
    def f(x, n):
        Colour.RED.k = [n]
        Colour.RED.k += [1]
        return x * 2, len(Colour.RED.k), Colour.RED.k

    def read(x, n):
        return x * 2, getattr(Colour.RED, "late", 5)

    alike(f, (x, 1), (x, 2))
    alike(read, (x, 1), (x, 2), (x, 2), between=lambda n: setattr(Colour.RED, "late", n) if n else vars(Colour.RED).pop("late", 0))


class Storing:
    def __setitem__(self, key, value):
        pass


class Deleting:
    def __delitem__(self, key):
        pass


def test_items_are_stored_and_deleted_through_one_slot():
    def f(x, o, key, store):
        try:
            if store:
                o[key] = 1
            else:
                del o[key]
        except (AttributeError, TypeError) as e:
            return x + 1, type(e), str(e)
        return x + 2

    for made in (Storing, Deleting, Neither):
        alike(f, *[(x, made(), key, store) for key in ("a", 0) for store in (True, False)])


class Neither:
    pass


class Bytes(bytes):
    pass


def test_errors_of_adding_to_bytes_name_the_subclass():
    def f(x, a, b):
        try:
            return x + 1, a + b
        except TypeError as e:
            return x + 1, str(e)

    alike(f, (x, Bytes(b"a"), 1), (x, Bytes(b"a"), "b"), (x, Bytes(b"a"), b"b"), (x, b"a", 1), (x, Bytes(b"a"), Bytes(b"b")))


def test_an_empty_cell_is_passed_on():
    def made():
        def inner():
            return late

        if not x.numel():
            late = 1
        return inner

    def f(x, cell):
        return x * 2, isinstance(cell, type(made().__closure__[0]))

    alike(f, (x, made().__closure__[0]))


def counting(log):
    try:
        yield 1
        yield 2
    finally:
        log.append("closed")


def left_in_a_loop(x, log, n):
    for _ in range(n):
        steps = counting(log)
        log.append(next(steps))
        weft._dynamo.graph_break()
    log.append("behind")
    return x * 2


def left_behind_a_break(x, log, n):
    steps = counting(log)
    log.append(next(steps))
    weft._dynamo.graph_break()
    log.append(sorted([3, n]))
    return x * 2


def test_a_local_that_nobody_reads_any_more_holds_its_generator_up_to_the_return():
    for f in (left_behind_a_break, left_in_a_loop):
        log: list = []
        for n in (1, 1, 2):
            f(x, log, 1)
            want, log[:] = list(log), []
            weft.compile(f, backend="eager")(x, log, 1)
            assert (log, f, n) == (want, f, n)
            log.clear()


def test_the_dict_of_an_enumeration_member_is_the_members():
    def f(x, n):
        y = weft.tanh(x)
        Colour.RED.__dict__["z"] = n
        return y, Colour.RED.z, vars(Colour.RED)["z"]

    alike(f, (x, 1), (x, 2))


class Pair(tuple):
    pass


def test_errors_of_ops_name_the_class_of_what_they_were_given():
    def f(x, value):
        y = x * 2
        try:
            return y, weft.full((2,), value)
        except TypeError as e:
            return y, str(e)

    alike(f, (x, Pair()), (x, (1,)))


def test_a_permuted_input_with_a_size_of_one_keeps_its_layout():
    def f(x):
        return x + 1

    for sizes, strides in (((5, 3, 1), (1, 5, 15)), ((5, 3, 1), (1, 5, 5)), ((1, 5, 3), (1, 1, 5)), ((5, 1, 3), (1, 5, 5))):
        weft.compiler.reset()
        given = weft.arange(15.0).as_strided(sizes, strides)
        for backend in ("eager", "inductor"):
            got = weft.compile(f, dynamic=True, fullgraph=True, backend=backend)(given)
            assert (got.stride(), got.tolist()) == (f(given).stride(), f(given).tolist()), (backend, strides)


def test_what_is_refused_for_two_reasons_is_refused_as_in_eager():
    def f(x):
        told = []
        for write in (lambda: x.add_(weft.ones(5)), lambda: x.add_("a"), lambda: x.scatter_(0, weft.ones(1), 1.0), lambda: x.t_()):
            try:
                write()
            except (RuntimeError, TypeError) as e:
                told.append((type(e), str(e)))
        return told, x * 2

    alike(f, (weft.ones(3),), (weft.ones(3, requires_grad=True),), (weft.ones(3),))


class Walking(dict):
    def __getitem__(self, key):
        return "asked"

    def __iter__(self):
        return iter(())


class Walked(collections.OrderedDict):
    def __getitem__(self, key):
        return "asked"


class Made(collections.defaultdict):
    def keys(self):
        return ["b"]

    def __iter__(self):
        return iter("b")


@pytest.mark.parametrize("made", [Walking, Walked, lambda d: Made(int, d)])
def test_copies_and_unions_ask_a_dict_whose_class_has_another_iterator(made):
    def f(x, o, other):
        copied = o.copy()
        o["late"] = 1
        return x + 1, copied, o | {"z": 1}, {"z": 1} | o, dict(other) | o, other | o, dict.copy(o), dict.__or__({}, o), x * 2

    alike(f, (x, made({"a": 1}), collections.OrderedDict(c=2)), (x, made({}), collections.OrderedDict(c=2)))


class Queue(collections.deque):
    pass


class ReadQueue(collections.deque):
    def __getitem__(self, key):
        return super().__getitem__(key)


class StoringQueue(collections.deque):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)


class DeletingQueue(collections.deque):
    def __delitem__(self, key):
        super().__delitem__(key)


@pytest.mark.parametrize("made", [list, collections.deque, Queue, ReadQueue, StoringQueue, DeletingQueue])
def test_places_of_deques_are_refused_by_an_operator_and_by_a_method_in_different_words(made):
    def f(x, o, key, how):
        try:
            if how == 0:
                return x + 1, o[key]
            if how == 1:
                o[key] = 5
            elif how == 2:
                del o[key]
            elif how == 3:
                return x + 1, o.__getitem__(key)
            elif how == 4:
                o.__setitem__(key, 5)
            else:
                o.__delitem__(key)
        except (TypeError, IndexError, OverflowError) as e:
            return x + 1, type(e), str(e)
        return x + 2, list(o)

    for how in range(6):
        alike(f, *[(x, made([1, 2, 3]), key, how) for key in ("a", 1, -4, None, 2**70)])


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    v: int = 1

    def __getattribute__(self, name):
        raise RuntimeError(f"asked for {name}")


def test_an_object_that_is_refused_is_not_asked_for_its_class():
    def f(x, o):
        try:
            return x + 1, list(zip(o, o))
        except TypeError as e:
            return x + 2, str(e)

    ours, theirs = f(x, Asked()), weft.compile(f, backend="eager")(x, Asked())
    assert ours[1] == theirs[1] == "'Asked' object is not iterable" and weft.equal(ours[0], theirs[0])


class Items(list):
    pass


@weft.compiler.disable
def left_to_python(v):
    return v


@pytest.mark.parametrize("made", [list, Items, dict, collections.Counter, Queue])
def test_a_method_of_c_that_waits_for_its_arguments_refuses_them_in_its_own_name(made):
    def f(x, o):
        y = x * 2
        try:
            o.clear(left_to_python(1))
        except TypeError as e:
            return y + 1, str(e)

    def add(x, o):
        o.update(left_to_python({"a": 1}), b=x * 2) if isinstance(o, dict) else o.append(left_to_python(x) * 2)
        return x + 1

    alike(f, (x, made()))
    alike(add, (x, made()), (x, made()))


def test_a_defaultdict_that_gets_a_factory_has_one():
    missing = collections.defaultdict(None)
    named = collections.OrderedDict()
    named.default_factory = list

    def f(x, key):
        try:
            return x + 1, len(missing[key])
        except KeyError as e:
            return x + 2, e.args

    def named_alike(x, key):
        try:
            return x + 1, named[key]
        except KeyError as e:
            return x + 2, e.args

    def factory(n):
        missing.clear()
        missing.default_factory = None if n == 0 else lambda: [1] * n

    alike(f, (x, "q"), (x, "q"), (x, "q"), between=factory)
    alike(named_alike, (x, "q"))
