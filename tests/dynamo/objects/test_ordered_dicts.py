"""OrderedDicts and subclasses of them and of defaultdict: attributes, and what C asks a subclass for."""

from collections import OrderedDict, defaultdict

import weft


def captured(f):
    weft._dynamo.reset()
    return weft.compile(f, backend="eager", fullgraph=True)


def test_a_new_one_has_attributes():
    def f(x):
        d = OrderedDict(a=x + 1)
        d.tag = 3
        d.other = d.tag + 1
        del d.tag
        return d, hasattr(d, "tag"), vars(d)["other"], d.copy().__dict__

    x = weft.ones(2)
    found, had, other, copied = captured(f)(x)
    assert type(found) is OrderedDict and found.__dict__ == {"other": 4} and not had and other == 4 and copied == {}
    assert found["a"].equal(x + 1)


def test_one_from_outside_is_given_attributes():
    held = OrderedDict(a=2)

    def f(x):
        held.tag = 3
        return x * held.tag * held["a"]

    assert captured(f)(weft.ones(2)).tolist() == [6, 6] and held.tag == 3 and dict(held) == {"a": 2}


def test_that_an_attribute_is_absent_is_guarded():
    held = OrderedDict(a=2)
    f = captured(lambda x: x * (2 if hasattr(held, "tag") else 3))
    assert f(weft.ones(1)).item() == 3
    held.tag = 1
    assert f(weft.ones(1)).item() == 2


def test_the_state_of_a_module_inside():
    module = weft.nn.Sequential(weft.nn.Linear(2, 2), weft.nn.BatchNorm1d(2))

    def f(x):
        return module.state_dict(), x + 1

    made, expected = captured(f)(weft.ones(1))[0], module.state_dict()
    assert list(made) == list(expected) and made._metadata == expected._metadata
    assert all(made[k].data_ptr() == expected[k].data_ptr() and not made[k].requires_grad for k in made)


class Told(OrderedDict):
    """Tells of the methods that C calls."""

    log: list = []

    def __setitem__(self, key, value):
        self.log.append(f"set {key}")
        super().__setitem__(key, value)

    def __getitem__(self, key):
        self.log.append(f"get {key}")
        return super().__getitem__(key)

    def __contains__(self, key):
        self.log.append(f"asked for {key}")
        return super().__contains__(key)


def everything(x, d):
    found = [d.setdefault("a", 1), d.setdefault("a", 2), d.setdefault(key="z", default=x)]
    d |= {"c": 1}
    d |= [("d", 2)]
    whole, behind = d | {"e": 1}, {"g": 1} | d
    found += [type(whole).__name__, list(whole.items()), type(behind).__name__, list(behind.items()), len(d | d)]
    for refused in (lambda: d | 3, lambda: d.update(3), lambda: d.update({}, {})):
        try:
            refused()
        except TypeError as e:
            found.append(str(e))
    return found, x + 1


def test_c_stores_through_the_methods_of_a_subclass():
    """Also in an object from outside, the second time, when no first fill is left to Python."""
    compiled = captured(everything)
    for _ in range(3):
        logs, results = [], []
        for f in (everything, compiled):
            Told.log.clear()
            d = Told()
            results.append(str(f(weft.ones(1), d)) + str(list(OrderedDict.items(d))))
            logs.append(list(Told.log))
        assert results[0] == results[1] and logs[0] == logs[1]


class Doubling(defaultdict):
    def __init__(self, *args):
        self.given = len(args)
        super().__init__(*args)

    def __setitem__(self, key, value):
        super().__setitem__(key, value * 2)


def united(x, d):
    first, behind, made = d | {"x": 1}, {"y": 1} | d, Doubling(int)
    made.default_factory = list
    shown = [(type(v).__name__, v.given, dict(v), v.default_factory is d.default_factory) for v in (first, behind, d | d)]
    d.default_factory = str
    return shown, first["none"], made["none"], made.default_factory is list, d["none"], d.copy().given, x + 1


def test_unions_and_factories_of_a_subclass_of_defaultdict():
    results = []
    for f in (united, captured(united), weft.compile(united, backend="eager")):
        d = Doubling(int, {"q": 1})
        results.append((f(weft.ones(1), d)[:-1], dict(d), d.default_factory))
    assert results[0] == results[1] == results[2]
