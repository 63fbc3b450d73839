"""Regular expressions in compiled functions."""

import re
import typing

import pytest

import weft

NAME = re.compile(r"layer(?P<n>\d+)\.(\w)")


def of_names(x):
    """What code does to the names of weights."""
    total = x
    for name in ("layer1.w", "layer22.b", "head"):
        if m := NAME.match(name):
            total = total * int(m.group("n")) + len(m[2])
    return total


def searches(x):
    m = NAME.search("in layer3.q")
    shown = m.span(), m.groups(), m.groupdict(), m.start(), m.end(1), m.expand(r"\2"), bool(NAME.match("no")), m.re is NAME
    return x + 1, shown, NAME.sub("_", "layer1.w layer2.b"), NAME.split("alayer1.wb"), NAME.findall("layer1.w"), NAME.groups


def functions(x):
    found = re.match("a(.)", "ab").group(1), re.sub("a", "b", "aa"), re.findall("a.", "abac"), re.split(",", "a,b")
    compiled = re.compile("a+", re.IGNORECASE)
    return x + 1, found, re.fullmatch("a", "b"), re.escape("a."), compiled.pattern, compiled.search("bA").start()


@pytest.mark.parametrize("f", [of_names, searches, functions], ids=lambda f: f.__name__)
def test_whole(f):
    x = weft.ones(2)
    compiled = weft.compile(f, backend="eager", fullgraph=True)
    for _ in range(2):
        assert str(compiled(x)) == str(f(x))


def test_another_pattern_compiles_again():
    f = weft.compile(lambda x, p: x + len(p.findall("aab")), backend="eager", fullgraph=True)
    assert [float(f(weft.zeros(1), p)) for p in (re.compile("a"), re.compile("b"), re.compile("a"))] == [2, 1, 2]


def test_classes_of_typing():
    def f(x):
        kinds = isinstance({}, typing.Mapping), isinstance([], typing.List), isinstance(3, typing.Hashable)  # noqa: UP006
        return x + 1, *kinds, isinstance("", (int, typing.Sequence)), issubclass(dict, typing.Mapping)  # noqa: UP006

    assert weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1))[1:] == f(weft.ones(1))[1:]


def test_what_is_found_later_is_asked_for_in_each_call():
    pattern = re.compile(r"\w\d")

    def f(x, s):
        return x + 1, [m.group() for m in pattern.finditer(s)]

    compiled = weft.compile(f)
    for s in ("a1b2", "zz", "a1b2", "c3", "zz"):
        assert compiled(weft.zeros(2), s)[1] == pattern.findall(s)
