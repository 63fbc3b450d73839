"""Arguments that methods of builtin classes do not take, of objects of theirs and of subclasses: C's own words are seen."""

import collections
import copy
import typing

import numpy as np

from tests.review.harness import prog, told, x0


class Words(set):
    pass


class Row(list):
    pass


class Table(dict):
    def __init__(self, v=1):
        pass


OBJECTS = [Words(), Row(), Table(), set(), [], {}, frozenset(), "a", (1,), 3, collections.deque()]
CALLS = """o.add(a=1) | o.append(a=1) | o.update(a=1) | o.pop(1, 2, 3) | o.clear(1) | o.extend() | o.count() | o.keys(1) | o.get(a=1)
o.__contains__() | o.__contains__(1, 2) | o.__len__(1) | o.__getitem__() | o.__setitem__(1) | o.__add__() | o.__eq__(1, 2)
o.__iter__(1) | o.__init__(a=3) | o.__format__() | o.__repr__(1) | o.fromkeys(1) | o.union(a=1) | o.isdisjoint() | o.sort(1)"""


@prog
def methods_refuse(C):
    r = []
    for call in CALLS.replace("\n", " | ").split(" | "):
        f = eval(f"lambda x, o: (x + 1, {call})")
        r += [told(C(f), x0(), copy.copy(o)) for o in OBJECTS]
    return r


@prog
def a_bound_method_refuses_in_the_name_of_its_object(C):
    def f(x, o):
        add = o.add
        return x + 1, told(lambda: add(a=1)), told(lambda: o.add(a=1)), told(lambda: super(Words, o).add(1, 2))

    return C(f)(x0(), Words())


@prog
def what_tensor_split_gives_may_be_written(C):
    def f(x, split):
        v = x.clone()
        split(v)[1].add_(1)
        return v

    splits = [lambda v: v.tensor_split(2), lambda v: v.hsplit(2), lambda v: v.split(2), lambda v: v.chunk(2), lambda v: v.unbind()]
    return [told(C(f), x0().requires_grad_(), split) for split in splits]


ERRORS = """SyntaxError("m", ("f", 1, 2, "t")) | SyntaxError("m", [1]) | UnicodeDecodeError("a") | OSError(2, "no") | OSError([1])
SyntaxError("m", n) | ImportError("m", name="n", path="p") | BlockingIOError(1, "a", 3) | IndentationError("x", ("a", 1, 2, "t"))"""


@prog
def exceptions_that_c_fills_in(C):
    members = ("name", "path", "errno", "filename", "characters_written", "lineno", "text", "msg", "encoding")

    def shown(x, make, n):
        try:
            raise make(n)
        except Exception as e:
            return x + 1, repr(e), str(e), [getattr(e, m, "none") for m in members]

    def imported(x):
        try:
            import no_such_module  # noqa: F401
        except ImportError as e:
            return x + 1, str(e), e.name, e.path, e

    makes = [eval(f"lambda n: {text}") for text in ERRORS.replace("\n", " | ").split(" | ")]
    found = told(C(imported), x0())
    return [told(C(shown), x0(), make, (1,)) for make in makes], found, found[-1].name


@prog
def joining_no_arrays(C):
    makes = [lambda: np.stack([]), lambda: np.concatenate([]), lambda: np.concatenate(5), lambda: np.vstack([]), lambda: np.hstack([])]
    return C(lambda a: (a + 1, [told(make) for make in makes]))(np.ones(2))


Fields = collections.namedtuple("Fields", "a b")


class Typed(typing.NamedTuple):
    v: int
    w: str = "w"


OF_TUPLES = """setattr(o, "k", 1) | delattr(o, "zz") | operator.setitem(o, 0, 1) | operator.delitem(o, 0) | o() | -o | o < 3 | 1 < o | [1] + o
next(o) | int(o) | "a" + o | [1, 2][o] | o @ o | o["a"] | o.index(99) | o + [1] | setattr(o, "v", 1)"""


@prog
def named_tuples_refuse_in_their_own_name(C):
    r = []
    for call in OF_TUPLES.replace("\n", " | ").split(" | "):
        f = eval(f"lambda x, o: (x + 1, told(lambda: {call}))")
        r += [C(f)(x0(), o) for o in (Fields(1, 2), Typed(1), Typed(x0()), (1, 2))]
    return r
