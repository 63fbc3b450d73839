"""A dict that compiled code changes while plain Python iterates over it: its keys are where they would be."""

import collections

import pytest

import weft


def keys_change(x, d, told):
    for k in d:
        told.append((k, x.tolist()))
        d["new"] = k
        d.pop("a", None)


def values_change_behind_a_gap(x, d, told):
    for k in d:
        told.append((k, x.tolist()))
        d["b"] = k


def the_last_goes(x, d, told):
    for k, v in d.items():
        told.append((k, v, x.tolist()))
        d[d.popitem()[0] + k] = 1
        if len(told) > 9:
            break


def all_goes(x, d, told):
    for k in d.values():
        told.append((k, x.tolist()))
        d.clear()
        d.update(dict.fromkeys("uvwz", 2))


def comes_and_goes(x, d, told):
    for k in d:
        told.append((k, x.tolist()))
        d["u"] = told
        del d["u"]
        d["v"] = 3
        d[k] = 4
        del d["v"]


def moves(x, d, told):
    for k in d:
        told.append((k, x.tolist()))
        getattr(d, "move_to_end", d.get)(k, False)


class Mapping(dict):
    def __setitem__(self, key, value):
        raise AssertionError("not asked")


def gap(kind):
    d = kind({k: i for i, k in enumerate("xabcd")})
    del d["x"]
    return d


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, lambda items: collections.defaultdict(None, items)])
@pytest.mark.parametrize(
    "f", [keys_change, values_change_behind_a_gap, the_last_goes, all_goes, comes_and_goes, moves], ids=lambda f: f.__name__
)
def test_the_loop_goes_on_as_in_python(f, kind):
    compiled = weft.compile(f, backend="eager")
    for make in (lambda: kind({"a": 1, "b": 2}), lambda: kind({"a": 1}), lambda: gap(kind)):
        seen = []
        for call in (f, compiled, compiled):
            d, told = make(), []
            try:
                call(weft.ones(1), d, told)
            except RuntimeError as e:
                told.append(str(e))
            seen.append((told, list(d.items())))
        assert seen[0] == seen[1] == seen[2]


def test_of_a_subclass_only_what_changed_is_stored():
    def f(x, d):
        dict.__setitem__(d, "b", 5)
        d.pop("a")
        return x + 1

    compiled = weft.compile(f, backend="eager")
    for _ in range(2):
        d = Mapping({"a": 1, "b": 2})
        compiled(weft.ones(1), d)
        assert d == {"b": 5}
