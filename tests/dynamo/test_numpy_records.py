"""Records of NumPy are views of the memory of an array: what is read of them is read in each call."""

from __future__ import annotations

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.usefixtures("fresh")
NESTED = [("y", "i4"), ("x", "f4"), ("in", [("b", "i4")]), ("sub", "f4", (2,))]


def rows() -> np.ndarray:
    made = np.zeros(2, NESTED)
    made["y"], made["x"] = (2, 4), (1, 3)
    return made


READS = {
    "a field": lambda s: s[0]["y"],
    "a place": lambda s: s[0][0],
    "fields in a loop": lambda s: [int(r["y"]) for r in s],
    "item": lambda s: s[0].item(),
    "tolist": lambda s: s[0].tolist()[0],
    "a nested field": lambda s: s[0]["in"]["b"],
    "an array in it": lambda s: s[0]["sub"].sum(),
    "its fields": lambda s: [str(v) for v in s[0]],
    "from an iterator": lambda s: next(iter(s))["y"],
    "in a container": lambda s: {"a": s[0]}["a"]["y"],
    "as text": lambda s: str(s[0]),
    "beside a tensor": lambda s: (weft.ones(2) * float(s[0]["x"])).tolist(),
}


@pytest.mark.parametrize("f", READS.values(), ids=list(READS))
def test_what_a_record_has_is_read_in_each_call(f):
    s, compiled = rows(), weft.compile(f)
    for _ in range(3):
        assert str(compiled(s)) == str(f(s))
        s["y"] += 5
        s["x"] *= 2
        s["in"]["b"] += 1
        s["sub"] += 1


def written_first(s):
    s["x"] *= 2
    r = s[0]
    return r["x"], s[0].item()[0]


def written_through(s):
    r = s[0]
    r["y"] += 1
    s[1] = r
    return int(s[1]["y"]), r["y"]


def assigned(s):
    s[0] = (7, 8.0, (1,), (2, 3))
    return s[0]["y"], s[0]["sub"]


def array_in_it(s):
    d = s[0]["sub"]
    s["sub"] += 1
    return d, d.sum()


@pytest.mark.parametrize("f", [written_first, written_through, assigned, array_in_it])
def test_writes_are_seen_within_a_call(f):
    plain, other = rows(), rows()
    compiled = weft.compile(f)
    for _ in range(2):
        assert str(compiled(other)) == str(f(plain))
        assert str(other) == str(plain)


@pytest.mark.parametrize("f", [lambda v: v["y"], lambda v: v[0], lambda v: v.item()[0], lambda v: v["sub"][0]])
def test_a_record_is_an_argument(f):
    s, compiled = rows(), weft.compile(f)
    for _ in range(3):
        assert compiled(s[0]) == f(s[0])
        s["y"] += 1
        s["sub"] += 1


def test_a_record_of_an_array_without_dimensions():
    z = np.array((1.0, 2), [("a", "f4"), ("b", "i4")])
    compiled = weft.compile(lambda z: z[()]["b"])
    for _ in range(3):
        z["b"] += 1
        assert compiled(z) == z["b"]


class Marked(np.float64):
    """A number with attributes."""

    def __add__(self, other):
        return "added"


def test_a_number_of_a_subclass_has_attributes_that_change():
    v = Marked(2.0)
    f = lambda v: (v.mark, v + 1, v * 2)
    compiled = weft.compile(f)
    for mark in range(3):
        v.mark = mark
        assert compiled(v) == f(v)


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]"])
@pytest.mark.parametrize("make", [np.zeros, np.ones, lambda k, d: np.ones_like(np.ones(k), dtype=d)])
def test_arrays_of_what_no_tensor_has_are_made_by_numpy(make, dtype):
    outcomes = []
    for f in (make, weft.compile(lambda k, d: make(k, d))):
        try:
            made = f(2, dtype)
            outcomes.append((made.dtype, made.tolist()))
        except Exception as e:
            outcomes.append((type(e), str(e)))
    assert outcomes[0] == outcomes[1]
