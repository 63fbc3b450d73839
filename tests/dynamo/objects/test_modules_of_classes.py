"""Classes that do not say where they are from (below a metaclass `__module__` can be deleted), or say anything at all."""

import pytest

import weft
from tests.dynamo.objects.twice import check


class Meta(type):
    pass


class Own(metaclass=Meta):
    def __init__(self, k=2):
        self.k = k

    def __call__(self, x):
        return x + self.k


class Text(str, metaclass=Meta):
    pass


class Error(Exception, metaclass=Meta):
    pass


class Layer(weft.nn.Module, metaclass=type("LayerMeta", (type(weft.nn.Module),), {})):
    def forward(self, x):
        return x - 1


def raises(x):
    try:
        raise Error("text")
    except Error as e:
        return x, repr(e)


own, text, layer = Own(), Text("a"), Layer()
USES = {
    "made": lambda x: x * Own(3).k,
    "called": lambda x: own(x),
    "read": lambda x: (x * own.k, own.missing),
    "its text": lambda x: (x * 2, str(Own), text + "b"),
    "no item": lambda x: [1, 2][own],
    "raised": raises,
    "a layer": lambda x: layer(x),
}


@pytest.mark.parametrize("module", [None, 3])
@pytest.mark.parametrize("use", USES)
def test_a_class_that_names_no_module(use, module, monkeypatch):
    for cls in (Own, Text, Error, Layer):
        monkeypatch.delattr(cls, "__module__")
        if module is not None:
            monkeypatch.setattr(cls, "__module__", module, raising=False)
    check(lambda C: C(USES[use])(weft.arange(4.0)))


def test_another_class_in_the_place_of_one_is_told_by_its_name(monkeypatch):
    monkeypatch.delattr(Own, "__module__")
    compiled = weft.compile(lambda x, o: x * o.k, backend="eager")
    compiled(weft.ones(1), own)
    other = type("Other", (), {"k": 5})()
    assert compiled(weft.ones(1), other).item() == 5
    assert compiled(weft.ones(1), own).item() == 2


def test_functions_may_say_anything(monkeypatch):
    monkeypatch.setattr(raises, "__module__", 3)
    check(lambda C: C(lambda x: raises(x))(weft.arange(4.0)))
